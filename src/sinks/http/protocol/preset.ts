import type { Event } from '../../../domain/event/event.ts'
import { parsedJson } from '../../../domain/text/decode.ts'
import { isObject } from '../../../domain/text/json.ts'
import type { SinkCheck } from '../../../ports/delivery.ts'
import { type Answer, isSuccess } from '../../../transport/exchange.ts'
import type { EventOutcome, RefusedFor } from '../../settle.ts'

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
  /** The destination tells the error of one group of a body only: each body has one. */
  readonly isOneGroup?: true
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

/** For bodies and answers that are no text. */
interface Wire {
  /** The bytes of a body: the same for the same text, and no more than it has. */
  encode(text: Buffer): Promise<Buffer>
  /** The answer as text, as it is read and shown. */
  decode(answer: Answer): Promise<Answer>
}

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
  readonly wire?: Wire
  /** The destination stores no event without a time. */
  readonly needsTime?: boolean
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
 * `https://es:9200/prefix/_bulk`. An address that ends with the path already, and its query, stay; one that ends with two
 * or more of its first segments, as `…/services/collector`, is completed. Returns the text unchanged if it is not a URL:
 * the sink reports the error.
 */
export function below(url: string, path: string): string {
  const parsed = URL.parse(url)
  if (parsed === null) return url
  const base = parsed.pathname.replace(/\/+$/, '')
  const segments = path.split('/')
  const last = segments.findLastIndex((_, at) => at > 1 && base.endsWith(segments.slice(0, at + 1).join('/')))
  parsed.pathname = `${base}/${segments.slice(Math.max(last, 0) + 1).join('/')}`.replace(/\/$/, '')
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
  | { readonly kind: 'split'; readonly reason: RefusedFor; readonly said?: string }
  | Retry
  | Stop

export const delivered = { kind: 'delivered' } as const satisfies Verdict

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

/** A success that acknowledges nothing: the body is sent again. */
export function noAcknowledgement(said: string): Retry {
  return { kind: 'retry', code: 'bad_body', said }
}

/** An answer for people: no destination writes one. */
function isHtml({ headers }: Answer): boolean {
  return /^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(headers['content-type'] ?? '')
}

/**
 * The verdict on a success with a page of HTML: it comes from a login, a portal or another website at the address, and
 * acknowledges nothing, whatever the destination. Undefined for any other answer; an empty body is no page, since some
 * frameworks name this type for it.
 */
export function readPage(answer: Answer): Retry | undefined {
  const { status, body, unread } = answer
  if (!isSuccess(status) || !isHtml(answer) || (unread === undefined && body.length === 0)) return undefined
  return page
}

const page = noAcknowledgement('a page of HTML, as of a login or a portal: check url')

/** The verdict on a success whose JSON says that it is none, as some gateways answer; undefined for any other answer. */
export function readError(answer: Answer): Retry | undefined {
  if (!isSuccess(answer.status)) return undefined
  const json = jsonOf(answer)
  const isGiven = (value: unknown) =>
    isObject(value) || Array.isArray(value) ? Object.keys(value).length > 0 : Boolean(value)
  const hasError = [json.at('error'), json.at('errors')].some(isGiven)
  const isError = hasError || json.at('success') === false || json.at('status') === 'error'
  return isError ? noAcknowledgement(answer.body.toString()) : undefined
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

/** Reads the JSON object of an answer; any other, and one that was not read whole, has no members. */
export function jsonOf({ body, unread }: Answer) {
  const value = unread === undefined ? parsedJson(body.toString()) : undefined
  return readerOf(isObject(value) ? value : undefined)
}

/** Reads the members of a value by their paths. */
export function readerOf(value: unknown) {
  const next = (inner: unknown, key: string): unknown =>
    typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined
  /** Undefined where there is none; without a path the value. */
  const at = (...path: readonly string[]) => path.reduce(next, value)
  return {
    at,
    /** Empty for anything but text. */
    text(...path: readonly string[]): string {
      const found = at(...path)
      return typeof found === 'string' ? found : ''
    },
    /** Also of text, since protobuf's JSON writes 64-bit numbers as text; 0 for anything else. */
    number(...path: readonly string[]): number {
      const found = Number(at(...path) ?? 0)
      return Number.isFinite(found) ? found : 0
    },
  }
}

/** The address exists, but not for this method, or not without a body. */
const knowsAddress = new Set([400, 405, 411, 415, 422, 501])
/** Of these, what servers also answer with a page of HTML to a method that the address does not have. */
const knowsMethod = new Set([405, 501])

/**
 * Checks an address by a request without a body and with a safe method: detects a wrong name, port, certificate or path
 * and, where the destination checks them for this method, wrong credentials. Cannot detect whether events would be
 * accepted. Some frameworks answer 404 to a method without a handler; OPTIONS then shows whether the address exists.
 */
export async function checkAddress(ask: Ask): Promise<SinkCheck> {
  // An answer without a body may be the head of a page.
  const readHead = (answer: Answer) => {
    const read = readStatus(answer.status)
    return read.kind === 'delivered' && isHtml(answer) ? page : read
  }
  const head = await ask({ method: 'HEAD' }, (answer) => {
    const isThere = (isHtml(answer) ? knowsMethod : knowsAddress).has(answer.status)
    return isThere || answer.status === 404 ? delivered : readHead(answer)
  })
  const found =
    head.status === 404
      ? `answered ${(await ask({ method: 'OPTIONS' }, readHead)).status} to OPTIONS`
      : `answered ${head.status} to HEAD`
  return { found, untested: 'credentials not tested' }
}

/** Tests address and credentials with a body without events, for destinations that accept one. */
export interface EmptyBatch extends SinkCheck {
  readonly body: string
  /**
   * True for an answer that a destination which would accept events gives, besides its acknowledgement. It must not be
   * one that other servers give: no page of HTML is asked about.
   */
  refusesEmpty?(answer: Answer): boolean
}

export async function checkByEmptyBatch(
  ask: Ask,
  { body, refusesEmpty, ...found }: EmptyBatch,
  read: Preset['read'],
): Promise<SinkCheck> {
  await ask({ method: 'POST', body }, (answer) =>
    !isHtml(answer) && refusesEmpty?.(answer) === true ? delivered : read(answer, []),
  )
  return found
}
