import type { InternalEvent } from '../domain/internal-event.ts'
import type { Stream } from '../domain/stream.ts'
import type { Report } from './condition.ts'
import type { Conditions } from './conditions.ts'
import type { Fields, LineLevel } from './logger.ts'
import type { Counting } from './metrics/metrics.ts'

/** Defines an internal event in one place: its metrics and its log line. */
export interface Definition<H extends InternalEvent> {
  /** Level of its line; the highest where it varies. */
  readonly level: LineLevel
  /** For the reference: what the event means to an operator. */
  readonly meaning: string
  count?(internalEvent: H, metrics: Counting): void
  tell(internalEvent: H, voice: Voice): void
}

export type InternalEventNamed<N extends InternalEvent['name']> = Extract<InternalEvent, { name: N }>
export type Definitions<N extends InternalEvent['name']> = {
  readonly [K in N]: Definition<InternalEventNamed<K>>
}

/** How definitions log. The voice adds the event name to each line. */
export interface Voice {
  line(level: LineLevel, message: string, fields?: Fields): void
  /** A debug line; `make` is called only if the level is enabled. */
  detail(make: () => readonly [message: string, fields?: Fields]): void
  /** Adds a report to a condition. */
  report(report: Omit<Report, 'event'>): void
  readonly conditions: Pick<Conditions, 'leave' | 'end' | 'stands' | 'retain'>
  /** For example `zone 101 (shop)`. */
  zone(id: number): string
  /** For example `zone 101 (shop) → archive`. */
  stream(stream: Stream): string
  /** The account whose key reads the zone; `unknown` for a zone that is not configured. */
  accountOf(zone: number): string
  isConfigured(zone: number | undefined, sink: string | undefined): boolean
  /** ms since the epoch. */
  readonly nowMs: number
}
