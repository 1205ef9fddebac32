import type { InternalEvent } from '../../domain/internal-event.ts'
import type { Stream } from '../../domain/stream.ts'
import type { Conditions, Report } from '../conditions.ts'
import type { Fields, LineLevel } from '../logger.ts'
import type { Counting } from '../metrics/metrics.ts'

/** Defines an internal event in one place: its metrics and its log line. */
export interface Definition<Event extends InternalEvent> {
  /** Level of its line; the highest where it varies. */
  readonly level: LineLevel
  /** For the reference: what the event means to an operator. */
  readonly meaning: string
  count?(event: Event, metrics: Counting): void
  /** Ends conditions. */
  ends?(event: Event, conditions: Conditions, about: About): void
  /** The condition that the event begins or continues; undefined where it writes a line instead. */
  report?(event: Event, about: About): Report | undefined
  /** Its line, as text where level and fields are those of the definition and of the event. */
  line?(event: Event, about: About): string | Line
}

export interface Line {
  readonly level?: LineLevel
  readonly message: string
  readonly fields?: Fields
}

export type Definitions<Name extends InternalEvent['name']> = {
  readonly [K in Name]: Definition<Extract<InternalEvent, { name: K }>>
}

/** What messages say of names in the configuration. */
export interface About {
  /** For example `zone 101 (shop)`. */
  zone(id: number): string
  /** For example `zone 101 (shop) → archive`. */
  stream(stream: Stream): string
  /** The account whose key reads the zone; `unknown` for a zone that is not configured. */
  accountOf(zone: number): string
  isConfigured(zone: number | undefined, sink: string | undefined): boolean
  /** Whether the API asked the account for a pause. */
  isThrottled(account: string): boolean
  /** ms since the epoch. */
  readonly nowMs: number
}
