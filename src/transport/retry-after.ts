import { httpDateOf } from './http-date.ts'

/**
 * The instant a Retry-After header names (seconds or an HTTP date), by the clock of `nowMs`. Never before `nowMs` and
 * never more than `maxMs` after it, so that a far side cannot put a stream to sleep for good. Undefined for a header
 * that is absent or means nothing.
 */
export function retryAtOf(header: string | undefined, nowMs: number, maxMs: number): number | undefined {
  const text = header?.trim()
  if (text === undefined || text === '') return undefined
  const atMs = /^\d+(?:\.\d+)?$/.test(text) ? nowMs + Number(text) * 1000 : httpDateOf(text)
  if (atMs === undefined) return undefined
  return Math.round(Math.min(Math.max(atMs, nowMs), nowMs + maxMs))
}
