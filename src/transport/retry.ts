import { isFailure } from '../domain/failure.ts'
import type { Clock } from '../ports/process.ts'
import { type Answer, headerOf } from './exchange.ts'

export const backoff = { baseMs: 500, maxMs: 4_000 }
/** The pump handles a longer wait: a waiting stream then occupies no worker. */
export const maxRestMs = 2_000
export const mostTries = 3
export const tryWindowMs = 10_000

/**
 * For the tries of one request of a sink: waits after a failure, and returns true where another try may help: of at most
 * three, the last begun within 10 s of the first.
 */
export function createTries(
  { clock, random = Math.random }: { readonly clock: Clock; readonly random?: (() => number) | undefined },
  most = mostTries,
): (error: unknown, signal: AbortSignal) => Promise<boolean> {
  const untilMs = clock.monotonic() + tryWindowMs
  let tried = 0
  return async (error, signal) => {
    if (!isFailure(error) || (error.kind !== 'retry' && error.kind !== 'wait')) return false
    const restMs = (error.details.retryAt ?? 0) - clock.now()
    const waitMs = Math.max(restMs, backoffMs(tried++, backoff, random))
    if (tried >= most || restMs > maxRestMs || clock.monotonic() + waitMs >= untilMs) return false
    await clock.sleep(waitMs, signal)
    return true
  }
}

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
 * Delay requested by a Retry-After header (seconds or an HTTP date), in ms, at most an hour, so that a server cannot
 * stop a stream for ever. A date is compared with the answer's own Date header, or with the host's clock where there is
 * none. Undefined for a header that is absent or invalid.
 */
export function retryAfterMsOf(answer: Pick<Answer, 'headers'>, hostMs: number): number | undefined {
  const text = headerOf(answer, 'retry-after')?.trim()
  if (text === undefined || text === '') return undefined
  const waitMs = /^\d+(?:\.\d+)?$/.test(text)
    ? Number(text) * 1000
    : (httpDateOf(text) ?? Number.NaN) - (httpDateOf(headerOf(answer, 'date')) ?? hostMs)
  if (Number.isNaN(waitMs)) return undefined
  return Math.round(Math.min(Math.max(waitMs, 0), maxRetryAfterMs))
}

/** In front of `-remaining` and `-reset`. */
const limitPrefixes = ['ratelimit', 'x-ratelimit', 'x-rate-limit']

/**
 * Delay until a limit of requests is renewed that is used up by the headers of an answer, in ms; undefined where none is,
 * or its renewal is not named. `isRefused`: the answer is a 429, which says so by itself where no header counts the
 * requests that are left. Of several limits the last renewal counts; at most `maxRetryAfterMs`.
 */
export function limitResetMsOf(
  answer: Pick<Answer, 'headers'>,
  hostMs: number,
  isRefused: boolean,
): number | undefined {
  const nowMs = httpDateOf(headerOf(answer, 'date')) ?? hostMs
  const textOf = (name: string) => [answer.headers[name]].flat().join()
  // `"default";r=0;t=30`, and `limit=10, remaining=0, reset=30` of an earlier draft, which is one limit.
  const listed = textOf('ratelimit')
  const limits = [
    ...(/;\s*r=/.test(listed) ? listed.split(',') : [listed]).map((limit) => ({
      left: /[;,\s](?:r|remaining)=(-?\d+)/.exec(` ${limit}`)?.[1],
      reset: /[;,\s](?:t|reset)=(\d+)/.exec(` ${limit}`)?.[1],
    })),
    ...limitPrefixes.map((prefix) => ({
      left: /^\s*(-?\d+)/.exec(textOf(`${prefix}-remaining`))?.[1],
      reset: /^\s*(\d+(?:\.\d+)?)/.exec(textOf(`${prefix}-reset`))?.[1],
    })),
  ]
  const waits = limits.flatMap(({ left, reset }) => {
    const isUsedUp = left === undefined ? isRefused : Number(left) <= 0
    return isUsedUp && reset !== undefined ? untilReset(Number(reset), nowMs) : []
  })
  const waitMs = Math.ceil(Math.min(Math.max(0, ...waits), maxRetryAfterMs))
  return waitMs > 0 ? waitMs : undefined
}

/** Services name seconds, or an instant in seconds or ms since the epoch; no wait is as long as those. */
function untilReset(value: number, nowMs: number): number {
  if (value < 1e8) return value * 1000
  return (value < 1e11 ? value * 1000 : value) - nowMs
}

/** The longest wait that a server may ask for. */
export const maxRetryAfterMs = 3_600_000

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
