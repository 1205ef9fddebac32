import { httpDateOf } from './http-date.ts'

/**
 * How long an answer asks to wait by its Retry-After header (seconds or an HTTP date), in ms, at most `maxMs`, so that
 * a server cannot put a stream to sleep for good. A date is judged by the answer's own Date header; by the host's clock
 * where it has none. Undefined for a header that is absent or means nothing.
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
