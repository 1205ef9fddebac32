import { httpDateOf } from './http-date.ts'

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
