import { UTCDateMini } from '@date-fns/utc/date/mini'
import { Failure } from '../../domain/failure.ts'
import { retryAfterMsOf } from '../../transport/retry.ts'
import type { Answer } from './protocol/preset.ts'

/** The longest wait that a destination may ask for. */
const maxRetryAfterMs = 3_600_000
const excerptLength = 200
/** Bytes of an answer that are searched for secrets. */
export const searchedBytes = 65_536

/** When the destination wants the next request: as the preset has read it, or by Retry-After; undefined for at once. */
export function retryAtOf(answer: Answer, nowMs: number, read?: number): number | undefined {
  const asked = { retryAfter: headerOf(answer, 'retry-after'), date: headerOf(answer, 'date') }
  const waitMs = read === undefined ? retryAfterMsOf(asked, nowMs, maxRetryAfterMs) : read - nowMs
  return waitMs === undefined || waitMs <= 0 ? undefined : nowMs + Math.min(waitMs, maxRetryAfterMs)
}

/** To be tried again: after a back-off, or at the named time. */
export function notBefore(retryAt: number | undefined, code: Failure['code'], message: string): Failure {
  if (retryAt === undefined) return new Failure('retry', code, message)
  const at = new UTCDateMini(retryAt).toISOString()
  return new Failure('wait', code, `${message}; next try not before ${at}`, { retryAt })
}

/** The beginning of an answer as text: more than is searched for secrets only if it has more. */
export function textOf({ body }: Answer): string {
  return body.toString('utf8', 0, searchedBytes + 1)
}

/** The beginning of an answer, for a message. */
export function excerptOf(text: string): string {
  if (text === '') return ''
  return ` (${text.length > excerptLength ? `${text.slice(0, excerptLength)}…` : text})`
}

export function headerOf({ headers }: Pick<Answer, 'headers'>, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}
