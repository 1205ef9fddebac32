import type { Event } from '../../../domain/event/event.ts'
import type { SinkCheck } from '../../../ports/delivery.ts'
import type { Answer } from '../exchanges.ts'
import { delivered, readStatus, type Verdict } from './answers.ts'

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

/**
 * Sends one request of a check or for receipts, with the headers and credentials of the sink. Throws the Failure of an
 * answer that `read` takes for anything but `delivered`; default: for any but 2xx.
 */
export type Ask = (
  request: {
    readonly method: 'HEAD' | 'GET' | 'OPTIONS' | 'POST'
    readonly url?: string
    readonly body?: string
    /** Of the body; that of the preset unless given. */
    readonly mediaType?: string
  },
  read?: (answer: Answer) => Verdict,
) => Promise<Answer>

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
  confirm?(receipts: readonly number[], ask: Ask): Promise<readonly number[]>
  /** Tries the destination without leaving an event there. Throws Failure. */
  check(ask: Ask): Promise<SinkCheck>
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

/** The address exists, but not for this method, or not without a body. */
const knowsAddress = new Set([400, 405, 411, 415, 422, 501])

/**
 * Checks an address by a request without a body and with a safe method: detects a wrong name, port, certificate or path
 * and, where the destination checks them for this method, wrong credentials. Cannot detect whether events would be
 * accepted. Some frameworks answer 404 to a method without a handler; OPTIONS then shows whether the address exists.
 */
export async function checkAddress(ask: Ask): Promise<SinkCheck> {
  const isThere = (status: number) => knowsAddress.has(status) || status === 404
  const head = await ask({ method: 'HEAD' }, ({ status }) =>
    isThere(status) ? delivered : readStatus(status),
  )
  const found =
    head.status === 404
      ? `answered ${(await ask({ method: 'OPTIONS' })).status} to OPTIONS`
      : `answered ${head.status} to HEAD`
  return { found, untested: 'credentials not tested' }
}

/** Tests address and credentials with a body without events, for destinations that accept one. */
export interface EmptyBatch extends SinkCheck {
  readonly body: string
  /** True for an answer that a destination which would accept events gives, besides its acknowledgement. */
  refusesEmpty?(answer: Answer): boolean
}

export async function checkByEmptyBatch(
  ask: Ask,
  { body, refusesEmpty, ...found }: EmptyBatch,
  read: Preset['read'],
): Promise<SinkCheck> {
  await ask({ method: 'POST', body }, (answer) =>
    refusesEmpty?.(answer) === true ? delivered : read(answer, []),
  )
  return found
}
