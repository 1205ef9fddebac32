import type { Event } from '../../../domain/event/event.ts'
import { isObject } from '../../../domain/text/json.ts'
import type { JsonObject } from '../../../domain/text/json.ts'
import type { Answer, Ask, Checked, EventOutcome, Preset, Retry, Stop, Verdict } from './preset.ts'

/** Statuses after which the same request is sent again later, as after every 5xx. */
const again = new Set([408, 421, 423, 425, 429])
/** Statuses that refuse the content of the request. */
const blamesContent = new Set([400, 413, 422])

const remedies: Record<number, string> = {
  401: 'check the credentials',
  402: 'check the quota and the plan of the destination',
  403: 'check that the credentials may write there',
  404: 'check url',
  405: 'check url: this address does not accept events',
  406: 'check preset and format',
  407: 'check the credentials in HTTPS_PROXY or HTTP_PROXY',
  410: 'check url: the destination has removed this address',
  411: 'check url: the destination, or a proxy before it, did not see the length of the body',
  414: 'check url: it is too long',
  415: 'check preset, format and compression',
  431: 'check headers: they are too large',
}

/**
 * Interprets an HTTP status, for answers whose body has no more specific result. The acknowledgement is one of the
 * statuses that the destination documents for it, or any 2xx. `own` holds what the destination means by some statuses.
 */
export function readStatus(
  status: number,
  acknowledges?: readonly number[],
  own: Readonly<Record<number, string>> = {},
): Verdict {
  if (isSuccess(status)) {
    if (acknowledges === undefined || acknowledges.includes(status)) return { kind: 'delivered' }
    return noAcknowledgement(`this destination acknowledges with ${acknowledges.join(' or ')}: check url`)
  }
  if (again.has(status) || status >= 500) return { kind: 'retry', code: retryCodeOf(status) }
  if (blamesContent.has(status)) return { kind: 'split', reason: status === 413 ? 'too_large' : 'refused' }
  const redirected = status >= 300 && status < 400
  const remedy = redirected
    ? 'redirects are not followed: set url to the final address'
    : (own[status] ?? remedies[status])
  return { kind: 'stop', remedy: remedy ?? 'check the sink', credentials: status === 401 || status === 403 }
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

/** A success that acknowledges nothing: the body is sent again. */
export function noAcknowledgement(said: string): Retry {
  return { kind: 'retry', code: 'bad_body', said }
}

/**
 * The verdict on a success with a page of HTML: it comes from a login, a portal or another website at the address, and
 * acknowledges nothing, whatever the destination. Undefined for any other answer; an empty body is no page, since some
 * frameworks name this type for it.
 */
export function readPage({ status, headers, body, whole }: Answer): Retry | undefined {
  const type = headers['content-type'] ?? ''
  if (!isSuccess(status) || !/^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(type)) return undefined
  if (whole && body.length === 0) return undefined
  return noAcknowledgement('a page of HTML, as of a login or a portal: check url')
}

/** A success of a destination that says how many events it dropped, but not which: if it were all, that is known. */
export function acknowledgedBut(count: number, events: readonly Event[], answer: string): Verdict {
  if (count <= 0) return { kind: 'delivered' }
  if (count < events.length) return { kind: 'delivered', lost: { count, answer } }
  return eachOf(events, () => ({ refused: 'refused', answer }))
}

/** The outcome of each event, by its position in the body. */
export function eachOf(
  events: readonly Event[],
  outcomeOf: (event: Event, index: number) => EventOutcome,
): Verdict {
  return { kind: 'each', outcomes: new Map(events.map((event, index) => [event, outcomeOf(event, index)])) }
}

function retryCodeOf(status: number): Retry['code'] {
  if (status === 429) return 'throttled'
  return status === 408 ? 'timeout' : 'server_error'
}

/** The JSON object of an answer; undefined for anything else, and for an answer that was not read whole. */
export function answerObject({ body, whole }: Answer): JsonObject | undefined {
  if (!whole) return undefined
  try {
    const value: unknown = JSON.parse(body.toString())
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** A member that is text; empty for any other. */
export function textAt(object: JsonObject | undefined, key: string): string {
  const value = object?.[key]
  return typeof value === 'string' ? value : ''
}

/** A member that is an object; undefined for any other. */
export function objectAt(object: JsonObject | undefined, key: string): JsonObject | undefined {
  const value = object?.[key]
  return isObject(value) ? value : undefined
}

/** A number, also as text, since protobuf's JSON writes 64-bit numbers as text; 0 for anything else. */
export function numberAt(object: JsonObject | undefined, key: string): number {
  const value = Number(object?.[key] ?? 0)
  return Number.isFinite(value) ? value : 0
}

/** The address exists, but not for this method, or not without a body. */
const knowsAddress = new Set([400, 405, 411, 415, 422, 501])

/**
 * Checks an address by a request without a body and with a safe method: detects a wrong name, port, certificate or path
 * and, where the destination checks them for this method, wrong credentials. Cannot detect whether events would be
 * accepted.
 */
export async function checkAddress(ask: Ask): Promise<Checked> {
  const first = await ask({ method: 'HEAD' })
  // Some frameworks answer 404 to a method without a handler; OPTIONS then shows whether the address exists.
  const second = first.status === 404 ? await ask({ method: 'OPTIONS' }) : undefined
  const isBetter = second !== undefined && second.status >= 200 && second.status < 300
  const answer = isBetter ? second : first
  const verdict = knowsAddress.has(answer.status) ? { kind: 'delivered' as const } : readStatus(answer.status)
  if (verdict.kind === 'stop' || verdict.kind === 'retry') return { verdict, answer }
  return {
    found: `answered ${answer.status} to ${isBetter ? 'OPTIONS' : 'HEAD'}`,
    untested: 'credentials not tested',
  }
}

/** Tests address and credentials with a body without events, for destinations that accept one. */
export interface EmptyBatch {
  readonly body: string
  readonly found: string
  readonly untested?: string
  /** True for an answer that a destination which would accept events gives, besides its acknowledgement. */
  refusesEmpty?(answer: Answer): boolean
}

export async function checkByEmptyBatch(
  ask: Ask,
  { body, refusesEmpty, ...found }: EmptyBatch,
  read: Preset['read'],
): Promise<Checked> {
  const answer = await ask({ method: 'POST', body })
  const verdict = read(answer, [])
  if (verdict.kind === 'delivered' || refusesEmpty?.(answer) === true) return found
  return { verdict: refusalOf(verdict), answer }
}

/** Why a destination would accept nothing, from the verdict on a request of a check. */
export function refusalOf(verdict: Verdict): Stop | Retry {
  if (verdict.kind === 'stop' || verdict.kind === 'retry') return verdict
  return { kind: 'stop', remedy: 'check url and preset: this is not an answer of such a destination' }
}
