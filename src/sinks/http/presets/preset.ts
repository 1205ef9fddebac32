import type { IncomingHttpHeaders } from 'node:http'
import type { RefusalReason } from '../../../domain/event/delivery.ts'
import type { Event } from '../../../domain/event/event.ts'
import type { Format } from '../../../ports/format.ts'
import type { Text } from '../../join.ts'

/** One event in the form that a body holds. */
export interface Piece extends Text {
  readonly event: Event
}

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
 * Outcome of one event of a request. `retry`: send it again, with others of the same outcome. `answer` is raw: the
 * sender of the request masks and cuts it.
 */
export type Outcome = 'accepted' | 'retry' | { readonly refused: RefusalReason; readonly answer: string }

/** What an answer means for the events of its request. */
export type Verdict =
  | { readonly kind: 'accepted' }
  /** One outcome for each event, in the order of the request. */
  | { readonly kind: 'each'; readonly outcomes: readonly Outcome[] }
  /** None was taken, all may be sent again; not before the destination's Retry-After. */
  | { readonly kind: 'retry'; readonly code: 'throttled' | 'timeout' | 'server_error' | 'bad_body' }
  /** The content of the request was refused: halve it; a single event is refused with the reason. */
  | { readonly kind: 'split'; readonly reason: RefusalReason }
  /** Every request would be refused: an operator must act. `remedy` says how. */
  | { readonly kind: 'stop'; readonly remedy: string; readonly credentials: boolean }

/**
 * One HTTP intake protocol, as data and pure functions. Requests depend on the events and the configuration only, so
 * that a repeated request has the same bytes.
 */
export interface Preset {
  readonly name: string
  /** Content-Type of a body. */
  mediaType(format: Format): string
  /** Headers of every request, lower case; configured headers override them. */
  readonly headers: Readonly<Record<string, string>>
  /** True where a line must be JSON to fit into the body. */
  readonly needsJson: boolean
  /** One event in a body; may add what the destination requires around the line (an action, an envelope). */
  piece(event: Event, line: string): string
  /** The body of a request. */
  body(pieces: readonly Piece[]): Buffer
  /** What `body` adds, in bytes: once for the body and once between two pieces. */
  readonly framing: { readonly once: number; readonly between: number }
  /** Interprets an answer to a request with these events. */
  read(answer: Answer, pieces: readonly Piece[]): Verdict
  /** The request of a check, which leaves nothing behind. `path` replaces the path of the URL; `testsCredentials`: a 2xx proves them. */
  readonly probe: {
    readonly method: 'HEAD' | 'GET' | 'OPTIONS'
    readonly path?: string
    readonly testsCredentials?: true
  }
}
