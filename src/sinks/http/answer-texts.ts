import { UTCDateMini } from '@date-fns/utc/date/mini'
import { Failure } from '../../domain/failure.ts'
import { retryAfterMsOf } from '../../transport/retry.ts'
import type { Answer, Retry, Stop } from './protocol/preset.ts'

/** The longest wait that a destination may ask for. */
const maxRetryAfterMs = 3_600_000
const excerptLength = 200

/** Replaces secrets in a text of a destination, and makes it one line of at most 4 KiB of UTF-8. */
export type Mask = (text: string) => string

/** The request that failed, for the message of its failure. */
export interface Asked {
  /** Names the sink, without secrets. */
  readonly what: string
  readonly url: URL
  readonly mask: Mask
}

/**
 * One line that says how to fix an error of the sink; or the failure of a request that may be repeated, of kind `wait`
 * where the destination named a time in the future.
 */
export function failureOf(
  verdict: Stop | Retry,
  answer: Answer,
  { what, url, mask }: Asked,
  nowMs: number,
): Failure {
  const { status } = answer
  if (verdict.kind === 'retry') {
    const said = excerptOf(mask(verdict.said ?? ''))
    const retryAt = retryAtOf(answer, nowMs, verdict.retryAtMs)
    return notBefore(retryAt, verdict.code, `${what} answered ${status}${said}`)
  }
  const to = status < 400 ? originOf(headerOf(answer, 'location'), url) : undefined
  const said = to === undefined ? excerptOf(mask(verdict.said ?? textOf(answer))) : ` to ${to}`
  return new Failure('stop', 'sink_refuses', `${what} answered ${status}${said}: ${verdict.remedy}`)
}

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
  return body.toString('utf8', 0, readBytes + 1)
}

/** The beginning of an answer, for a message. */
export function excerptOf(text: string): string {
  if (text === '') return ''
  return ` (${text.length > excerptLength ? `${text.slice(0, excerptLength)}…` : text})`
}

function headerOf({ headers }: Pick<Answer, 'headers'>, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** Only the origin: the rest of a redirect's address may repeat the secrets of the sink's URL. */
function originOf(location: string | undefined, from: URL): string | undefined {
  return location === undefined ? undefined : URL.parse(location, from.href)?.origin
}

/** Shortest value, and shortest part of a value, to mask; anything shorter would mask ordinary text. */
const shortestSecret = 4
const shortestPart = 6
const schemes = /^(?:apikey|basic|bearer|digest|negotiate|splunk)$/i
/** Bytes of an answer that are kept. */
const keptBytes = 4096
/** Bytes of an answer that are searched. */
const readBytes = 65_536

export function masking(secrets: readonly string[]): Mask {
  const forms = formsOf(secrets)
  return (given) => {
    // A secret cut in two at the end would not be found: drop as much as the longest may reach.
    const kept = given.length > readBytes ? readBytes - (forms[0]?.length ?? 0) : readBytes
    let text = given.slice(0, kept)
    for (const form of forms) text = text.replaceAll(form, '***')
    return cut(text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim())
  }
}

/** Every form in which a destination might echo a secret, the longest first. */
function formsOf(secrets: readonly string[]): string[] {
  const forms = new Set<string>()
  for (const secret of secrets) {
    if (secret.length < shortestSecret) continue
    const parts = [secret, ...secret.split(/\s+/), ...secret.split(/[\s:=,;&?/]+/), ...decoded(secret)]
    for (const part of parts) {
      if (part !== secret && (part.length < shortestPart || schemes.test(part))) continue
      forms.add(part)
      forms.add(encodeURIComponent(part.toWellFormed()))
      forms.add(JSON.stringify(part).slice(1, -1))
    }
  }
  return [...forms].sort((one, other) => other.length - one.length)
}

/** `Basic dXNlcjpwYXNz` contains a password that an answer may show in plain text. */
function decoded(secret: string): string[] {
  const encoded = /^Basic\s+([A-Za-z\d+/=]+)$/i.exec(secret)?.[1]
  if (encoded === undefined) return []
  const plain = Buffer.from(encoded, 'base64').toString()
  return [plain, plain.slice(plain.indexOf(':') + 1)]
}

function cut(text: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= keptBytes) return text
  // The cut may split the last character.
  return bytes.toString('utf8', 0, keptBytes - 3).replace(/\ufffd+$/, '')
}
