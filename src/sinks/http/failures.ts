import { UTCDateMini } from '@date-fns/utc/date/mini'
import { Failure } from '../../domain/failure.ts'
import { retryAfterMsOf } from '../../transport/retry-after.ts'
import { maskAnswer, maskText } from './mask.ts'
import type { Answer, Retry, Stop } from './protocol/preset.ts'

/** The longest wait that a destination may ask for. */
const maxRetryAfterMs = 3_600_000
const excerptLength = 200

/** The request that failed, for the message of its failure. */
export interface Asked {
  /** Names the sink, without secrets. */
  readonly what: string
  readonly url: URL
  /** Every form of every secret. */
  readonly forms: readonly string[]
}

/** The failure for an error of the sink: one line that says how to fix it. */
export function stopOf(verdict: Stop, answer: Answer, { what, url, forms }: Asked): Failure {
  const to = answer.status < 400 ? originOf(headerOf(answer, 'location'), url) : undefined
  const said = to === undefined ? excerptOf(textOf(verdict, answer, forms)) : ` to ${to}`
  return new Failure('stop', 'sink_refuses', `${what} answered ${answer.status}${said}: ${verdict.remedy}`)
}

/** The failure for a request that may be repeated: kind `wait` where the destination named a time in the future. */
export function retryOf(verdict: Retry, answer: Answer, { what, forms }: Asked, nowMs: number): Failure {
  const said = verdict.said === undefined ? '' : excerptOf(maskText(verdict.said, forms))
  const message = `${what} answered ${answer.status}${said}`
  const retryAt = retryAtOf(answer, nowMs, verdict.retryAtMs)
  return retryAt === undefined
    ? new Failure('retry', verdict.code, message)
    : waitUntil(retryAt, verdict.code, message)
}

/** When the destination wants the next request: as the preset has read it, or by Retry-After; undefined for at once. */
export function retryAtOf(answer: Answer, nowMs: number, read?: number): number | undefined {
  const asked = { retryAfter: headerOf(answer, 'retry-after'), date: headerOf(answer, 'date') }
  const waitMs = read === undefined ? retryAfterMsOf(asked, nowMs, maxRetryAfterMs) : read - nowMs
  return waitMs === undefined || waitMs <= 0 ? undefined : nowMs + Math.min(waitMs, maxRetryAfterMs)
}

export function waitUntil(retryAt: number, code: Failure['code'], message: string): Failure {
  const at = new UTCDateMini(retryAt).toISOString()
  return new Failure('wait', code, `${message}; next try not before ${at}`, { retryAt })
}

/** The text of the answer, masked and cut. */
export function textOf(
  { said }: { readonly said?: string },
  answer: Answer,
  forms: readonly string[],
): string {
  return said === undefined ? maskAnswer(answer.body, forms) : maskText(said, forms)
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

/** Only the origin: the rest of a redirect's address may repeat the secrets of the sink's URL. */
function originOf(location: string | undefined, from: URL): string | undefined {
  return location === undefined ? undefined : URL.parse(location, from.href)?.origin
}
