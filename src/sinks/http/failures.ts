import { UTCDateMini } from '@date-fns/utc/date/mini'
import { Failure } from '../../domain/failure.ts'
import { retryAfterMsOf } from '../../transport/retry-after.ts'
import { maskAnswer } from './mask.ts'
import type { Answer, Verdict } from './presets/preset.ts'
import type { Target } from './target.ts'

/** The longest Retry-After that is honoured. */
const maxRetryAfterMs = 3_600_000
const excerptLength = 200

/** The failure for an error of the sink: one line that says how to fix it. `what` names the sink without secrets. */
export function stopOf(
  verdict: Verdict & { kind: 'stop' },
  answer: Answer,
  target: Target,
  what: string,
): Failure {
  const to = answer.status < 400 ? originOf(headerOf(answer, 'location'), target.url) : undefined
  const said = to === undefined ? excerptOf(maskAnswer(answer.body, target.forms)) : ` to ${to}`
  return new Failure('stop', 'sink_refuses', `${what} answered ${answer.status}${said}: ${verdict.remedy}`)
}

/** The failure for a request that may be repeated: kind `wait` where the destination named a time in the future. */
export function retryOf(
  verdict: Verdict & { kind: 'retry' },
  answer: Answer,
  what: string,
  nowMs: number,
): Failure {
  const message = `${what} answered ${answer.status}`
  const asked = { retryAfter: headerOf(answer, 'retry-after'), date: headerOf(answer, 'date') }
  const waitMs = retryAfterMsOf(asked, nowMs, maxRetryAfterMs) ?? 0
  return waitMs === 0
    ? new Failure('retry', verdict.code, message)
    : waitUntil(nowMs + waitMs, verdict.code, message)
}

export function waitUntil(retryAt: number, code: Failure['code'], message: string): Failure {
  const at = new UTCDateMini(retryAt).toISOString()
  return new Failure('wait', code, `${message}, not to be asked before ${at}`, { retryAt })
}

/** The beginning of an answer, for a message. */
export function excerptOf(text: string): string {
  if (text === '') return ''
  return ` (${text.length > excerptLength ? `${text.slice(0, excerptLength)}…` : text})`
}

function headerOf({ headers }: Answer, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** Only the origin: the rest of a redirect's address may repeat the secrets of the sink's URL. */
function originOf(location: string | undefined, from: URL): string | undefined {
  return location === undefined ? undefined : URL.parse(location, from.href)?.origin
}
