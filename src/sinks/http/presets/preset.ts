import type { IncomingHttpHeaders } from 'node:http'
import type { RefusalReason } from '../../../domain/event/delivery.ts'
import type { Event } from '../../../domain/event/event.ts'
import type { Format } from '../../../ports/format.ts'
import type { Text } from '../../join.ts'

/** One event as a body holds it. */
export interface Piece extends Text {
  readonly event: Event
}

/** What a destination said to one request. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The body, decoded; empty where it was unreadable or larger than the cap. */
  readonly body: Buffer
  /** False where the body was unreadable or larger than the cap. */
  readonly whole: boolean
}

/**
 * What became of one event of a request. `retry`: sent again alone with others of its kind. The answer is given as it
 * came: whoever sent the request masks and cuts it.
 */
export type Outcome = 'accepted' | 'retry' | { readonly refused: RefusalReason; readonly answer: string }

/** What an answer means for the events of its request. */
export type Verdict =
  | { readonly kind: 'accepted' }
  /** One outcome for each event, in the order of the request. */
  | { readonly kind: 'each'; readonly outcomes: readonly Outcome[] }
  /** None was taken, all may be sent again; not before the destination's Retry-After. */
  | { readonly kind: 'retry'; readonly code: 'throttled' | 'timeout' | 'server_error' | 'bad_body' }
  /** The request was refused for what it holds: halve it; a single event is refused for the reason. */
  | { readonly kind: 'split'; readonly reason: RefusalReason }
  /** Every request would be refused: a person must act. `remedy` says how. */
  | { readonly kind: 'stop'; readonly remedy: string; readonly credentials: boolean }

/**
 * One dialect of HTTP intake, as data and pure functions. Everything that is sent depends on the events and the
 * configuration only, so that a repeated request has the same bytes.
 */
export interface Preset {
  readonly name: string
  /** Content-Type of a body. */
  mediaType(format: Format): string
  /** Headers of every request, lower case; those of the configuration win. */
  readonly headers: Readonly<Record<string, string>>
  /** True where a line must be JSON to fit into the body. */
  readonly needsJson: boolean
  /** One event's share of a body; may add what the destination wants around the line (an action, an envelope). */
  piece(event: Event, line: string): string
  /** The body of a request. */
  body(pieces: readonly Piece[]): Buffer
  /** What `body` adds, in bytes: once for the body and once between two pieces. */
  readonly framing: { readonly once: number; readonly between: number }
  /** Reads an answer to a request with these events. */
  read(answer: Answer, pieces: readonly Piece[]): Verdict
  /** What a check asks with: a request that leaves nothing behind. `path` replaces the one of the URL. */
  readonly probe: { readonly method: 'HEAD' | 'GET' | 'OPTIONS'; readonly path?: string }
}
