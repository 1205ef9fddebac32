import type { IncomingHttpHeaders } from 'node:http'
import type { RefusalReason, SkipReason } from '../../../domain/event/delivery.ts'
import type { Event } from '../../../domain/event/event.ts'
import type { SinkCheck } from '../../../ports/delivery.ts'

/** The answer of a destination to one request. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The body, decoded; empty where it was unreadable or larger than the limit. */
  readonly body: Buffer
  /** False where the body was unreadable or larger than the limit. */
  readonly whole: boolean
}

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
  | { readonly retry: string; readonly retryAtMs?: number; readonly refuseAfter?: true }
  | { readonly refused: RefusalReason | SkipReason; readonly answer: string }

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

/** The texts around and between the events of a body. `between` is ASCII. */
export interface Layout {
  readonly before: string
  readonly between: string
  readonly after: string
  /**
   * For bodies that group their events: the texts around the group of an event. Equal texts mean the same group;
   * `between` stands between groups, too.
   */
  group?(event: Event): { readonly before: string; readonly after: string }
}

/** A line per event. */
export const lineLayout: Layout = { before: '', between: '\n', after: '\n' }
/** A JSON array of all events. */
export const arrayLayout: Layout = { before: '[', between: ',', after: ']' }

/** A request that is about to be sent, for the credentials in it. */
export interface Authorisation {
  readonly method: string
  readonly url: URL
  /** As sent: after compression. */
  readonly body: Buffer
  /** Headers that were just refused: a cached token in them must not be used again. */
  readonly refused?: Readonly<Record<string, string>>
  readonly nowMs: number
  /** Sends a request to another address, such as that of tokens, under the time limit of the sink. Throws Failure. */
  ask(request: AskedElsewhere): Promise<Answer>
}

export interface AskedElsewhere {
  readonly url: URL
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer
}

/** The result of a check: why the sink would accept nothing, or what was found. */
export type Checked = SinkCheck | { readonly verdict: Stop | Retry; readonly answer: Answer }

/** Which receipts the destination has confirmed, or why it cannot say. */
export type Confirmed =
  { readonly stored: readonly number[] } | { readonly verdict: Stop | Retry; readonly answer: Answer }

/** Sends one request of a check or for receipts, with the headers and credentials of the sink. */
export type Ask = (request: {
  readonly method: 'HEAD' | 'GET' | 'OPTIONS' | 'POST'
  readonly url?: string
  readonly body?: string
  /** Of the body; that of the preset unless given. */
  readonly mediaType?: string
}) => Promise<Answer>

/**
 * One HTTP intake protocol with its settings, as data and small functions. The bytes of a request depend on the events
 * and the configuration only, so that a repeated request is the same one.
 */
export interface Preset {
  /** Address that bodies are posted to. */
  readonly url: string
  /** Content-Type of a body. */
  readonly mediaType: string
  /** Headers of every request, lower case, without secrets; configured headers override them. */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Headers with credentials, lower case, created for each try; the refused ones where there are no others. Throws
   * Failure: a token that is refused is an error of the sink (stop).
   */
  authorise?(request: Authorisation): Promise<Readonly<Record<string, string>>>
  /** One event in a body; may add what the destination requires around the line (an action, an envelope). */
  piece(event: Event, line: string): string
  readonly layout: Layout
  /** Interprets an answer to a request with these events, in their order in the body. Each id occurs once. */
  read(answer: Answer, events: readonly Event[]): Verdict
  /**
   * Asks which receipts are confirmed; polled until all are. `check` goes before the first body then, since it finds a
   * destination that gives no receipts without leaving events there that would have to be sent again. Throws Failure.
   */
  confirm?(receipts: readonly number[], ask: Ask): Promise<Confirmed>
  /** Tries the destination without leaving an event there. Throws Failure. */
  check(ask: Ask): Promise<Checked>
}

/**
 * The address of an intake below a configured one: `https://es:9200/prefix` and `/_bulk` give
 * `https://es:9200/prefix/_bulk`. An address that ends with the path already, and its query, stay. Returns the text
 * unchanged if it is not a URL: the sink reports the error.
 */
export function below(url: string, path: string): string {
  const parsed = URL.parse(url)
  if (parsed === null) return url
  const base = parsed.pathname.replace(/\/+$/, '')
  parsed.pathname = base.endsWith(path) ? base : base + path
  return parsed.href
}

/** Puts the time of the event first into the object of its line. */
export function withTime(name: string): (event: Pick<Event, 'time'>, line: string) => string {
  return ({ time }, line) =>
    time === undefined ? line : `{"${name}":${JSON.stringify(time)},${line.slice(1)}`
}

/** Nanoseconds since the epoch, as text, since a number could not hold them; undefined for an event without a time. */
export function unixNano({ time, timeMs }: Event): string | undefined {
  if (time === undefined || timeMs === undefined) return undefined
  const fraction = /\.(\d+)Z$/.exec(time)?.[1] ?? ''
  return `${Math.floor(timeMs / 1000)}${fraction.padEnd(9, '0')}`
}

export type Compression = 'none' | 'gzip' | 'zstd'

export interface BatchLimits {
  readonly maxEvents: number
  /** Limit of one body before compression. A larger event is sent alone; the destination decides. */
  readonly maxBytes: number
  /** Limit of one event in a body. */
  readonly maxEventBytes?: number | undefined
  /** The destination does not accept older events. */
  readonly maxAgeHours?: number | undefined
}
