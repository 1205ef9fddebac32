import type { RefusalReason, SkipReason } from '../../../domain/event/delivery.ts'
import type { Event } from '../../../domain/event/event.ts'
import { isObject, type JsonObject } from '../../../domain/text/json.ts'
import type { Answer } from '../exchanges.ts'

/**
 * The outcome of one event of a request. Texts are raw: callers must mask and cut them.
 * - `delivered`, `duplicate`: the destination has it, now or from before.
 * - `unsent`: the destination stopped reading before this event; send it again at once.
 * - `retry`: send it again later, a bounded number of times. With `refuseAfter` an event that is still not accepted
 *   then, while others are, counts as refused.
 * - `refused`: the destination will never accept it.
 */
export type EventOutcome =
  | 'delivered'
  | 'duplicate'
  | 'unsent'
  | { readonly retry: string; readonly refuseAfter?: true }
  | { readonly refused: RefusalReason | SkipReason; readonly answer: string }

export function isTaken(outcome: EventOutcome | undefined): outcome is 'delivered' | 'duplicate' {
  return outcome === 'delivered' || outcome === 'duplicate'
}

/** Every request would be refused until the error is fixed; `remedy` says how. */
export interface Stop {
  readonly kind: 'stop'
  readonly remedy: string
  /** True if other credentials might help: secrets are read again, and a new token is requested. */
  readonly credentials?: boolean
  /** The relevant text of the answer, instead of the whole; raw. */
  readonly said?: string
}

/** None was accepted, all may be sent again: not before `retryAtMs`, or the answer's Retry-After. */
export interface Retry {
  readonly kind: 'retry'
  readonly code: 'throttled' | 'timeout' | 'server_error' | 'bad_body'
  readonly retryAtMs?: number
  readonly said?: string
}

/** What an answer means for the events of its request. */
export type Verdict =
  /**
   * All were accepted, except `lost.count` that the destination dropped without saying which. With a `receipt` they only
   * wait there: `Preset.confirm` says when they are stored.
   */
  | {
      readonly kind: 'delivered'
      readonly lost?: { readonly count: number; readonly answer: string }
      readonly receipt?: number
    }
  /** An event without an outcome is sent again later. `stop` holds for the events to be sent again. */
  | { readonly kind: 'each'; readonly outcomes: ReadonlyMap<Event, EventOutcome>; readonly stop?: Stop }
  /** The request was refused for its content or size: halve it; a single event is refused with the reason. */
  | { readonly kind: 'split'; readonly reason: RefusalReason | SkipReason; readonly said?: string }
  | Retry
  | Stop

export const delivered: Verdict = { kind: 'delivered' }

/** Statuses after which the same request is sent again later, as after every 5xx. */
const again = new Set([408, 421, 423, 425, 429])
/** Statuses that refuse the content of the request. */
const blamesContent = new Set([400, 413, 422])

const remedies: Record<number, string> = {
  401: 'check the credentials',
  402: 'check the quota and the plan of the destination',
  403: 'check that the credentials may write there',
  407: 'check the credentials in HTTPS_PROXY or HTTP_PROXY',
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
    if (acknowledges === undefined || acknowledges.includes(status)) return delivered
    return noAcknowledgement(`this destination acknowledges with ${acknowledges.join(' or ')}: check url`)
  }
  if (status === 429) return { kind: 'retry', code: 'throttled' }
  if (status === 408) return { kind: 'retry', code: 'timeout' }
  if (again.has(status) || status >= 500) return { kind: 'retry', code: 'server_error' }
  if (blamesContent.has(status)) return { kind: 'split', reason: status === 413 ? 'too_large' : 'refused' }
  const redirected = status >= 300 && status < 400
  const remedy = redirected
    ? 'redirects are not followed: set url to the final address'
    : (own[status] ?? remedies[status])
  return { kind: 'stop', remedy: remedy ?? 'check url', credentials: status === 401 || status === 403 }
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
  if (count <= 0) return delivered
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

/** The member of an object or list, of that member and so on; undefined where one is missing. */
export function memberOf(value: unknown, ...path: readonly string[]): unknown {
  const next = (inner: unknown, key: string): unknown =>
    typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined
  return path.reduce(next, value)
}

/** A member that is text; empty for any other. */
export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = memberOf(value, ...path)
  return typeof found === 'string' ? found : ''
}

/** A number, also as text, since protobuf's JSON writes 64-bit numbers as text; 0 for anything else. */
export function numberAt(value: unknown, ...path: readonly string[]): number {
  const found = Number(memberOf(value, ...path) ?? 0)
  return Number.isFinite(found) ? found : 0
}
