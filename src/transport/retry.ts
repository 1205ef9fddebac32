/**
 * Delay before the next try, with full jitter: between 0 and `baseMs` doubled for each `attempt` (0 for the first
 * delay), at most `maxMs`. `random` returns [0, 1).
 */
export function backoffMs(
  attempt: number,
  { baseMs, maxMs }: { readonly baseMs: number; readonly maxMs: number },
  random: () => number,
): number {
  const ceilingMs = Math.min(maxMs, baseMs * 2 ** Math.min(attempt, 52))
  return Math.floor(random() * ceilingMs)
}

/**
 * Delay requested by a Retry-After header (seconds or an HTTP date), in ms, at most `maxMs`, so that a server cannot
 * stop a stream for ever. A date is compared with the answer's own Date header, or with the host's clock where there is
 * none. Undefined for a header that is absent or invalid.
 */
export function retryAfterMsOf(
  headers: { readonly retryAfter: string | undefined; readonly date: string | undefined },
  hostMs: number,
  maxMs: number,
): number | undefined {
  const text = headers.retryAfter?.trim()
  if (text === undefined || text === '') return undefined
  const waitMs = /^\d+(?:\.\d+)?$/.test(text)
    ? Number(text) * 1000
    : (httpDateOf(text) ?? Number.NaN) - (httpDateOf(headers.date) ?? hostMs)
  if (Number.isNaN(waitMs)) return undefined
  return Math.round(Math.min(Math.max(waitMs, 0), maxMs))
}

/** The three forms of RFC 9110; the last one has no zone. */
const httpDate =
  /^[A-Z][a-z]+, \d\d([ -])[A-Z][a-z]{2}\1\d{2,4} \d\d:\d\d:\d\d GMT$|^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/

/** Parses an HTTP date to ms since the epoch; undefined for anything else. */
export function httpDateOf(header: string | undefined): number | undefined {
  const text = header?.trim() ?? ''
  if (!httpDate.test(text)) return undefined
  const atMs = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
  return Number.isNaN(atMs) ? undefined : atMs
}
