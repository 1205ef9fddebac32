import type { InternalEvent } from '../domain/internal-event.ts'
import type { Stream } from '../domain/stream.ts'
import type { Report } from './condition.ts'
import type { Conditions } from './conditions.ts'
import type { Fields, LineLevel } from './logger.ts'
import type { Counting } from './metrics.ts'

/** The one place that says what an internal event means: its metrics and its line. */
export interface Definition<H extends InternalEvent> {
  /** Of its line; the highest where that depends. */
  readonly level: LineLevel
  /** For the reference: what an operator should make of it. */
  readonly meaning: string
  count?(internalEvent: H, metrics: Counting): void
  tell(internalEvent: H, voice: Voice): void
}

export type InternalEventNamed<N extends InternalEvent['name']> = Extract<InternalEvent, { name: N }>
export type Definitions<N extends InternalEvent['name']> = {
  readonly [K in N]: Definition<InternalEventNamed<K>>
}

/** How definitions speak. The event name is added to whatever they say. */
export interface Voice {
  line(level: LineLevel, message: string, fields?: Fields): void
  /** A debug line, made only where somebody reads it. */
  detail(make: () => readonly [message: string, fields?: Fields]): void
  /** One of a condition's reports. */
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
