import type { InternalEvent } from '../../domain/internal-event.ts'
import type { Stream } from '../../domain/stream.ts'
import type { Fields, LineLevel } from '../logger.ts'
import type { CountedMetric, Labels, Metrics } from '../metrics/metrics.ts'

export interface Definition<Event extends InternalEvent> {
  /** Level of its line; the highest where it varies. */
  readonly level: LineLevel
  /** For the reference: what the event means to an operator. */
  readonly meaning: string
  /** What it adds to counters and histograms: 1, or a field of the event. The event's facts give the labels. */
  readonly counts?: Readonly<Partial<Record<CountedMetric, 1 | keyof Event>>>
  /** Labels that no fact of the event has. */
  readonly labels?: Labels | ((event: Event) => Labels)
  measure?(event: Event, metrics: Pick<Metrics, 'measure'>): void
  /** The conditions that it ends for what it is about: a stream, a zone, an account; else all of them. */
  readonly ends?: readonly InternalEvent['name'][]
  /** What happened, without what it is about, which begins the line. An event without a text has no line. */
  text?(event: Event, now: Now): string
  /** Where it varies. An event of level debug begins no condition, and ends the one of its kind. */
  levelOf?(event: Event, now: Now): LineLevel
  /** Fields of the line, where they are not all facts of the event. */
  fields?(event: Event): Fields
  /** Where the event may last or be repeated. */
  readonly condition?: Condition<Event>
}

/** How events are condensed into the few lines of a condition. */
export interface Condition<Event> {
  /** The facts that the events of one condition have in common. */
  readonly by: readonly string[] | ((event: Event) => readonly string[])
  /** Some other event ends it. */
  readonly hasEnd?: boolean
  /** How long it lasts without a further event; default: ten minutes. Above a day only beginning and end are written. */
  readonly lastsMs?: number | ((event: Event, now: Now) => number)
}

export interface Now {
  /** ms since the epoch. */
  readonly nowMs: number
  /** Whether the API asked the stream's account for a pause. */
  isThrottled(stream: Stream): boolean
}

export type Definitions = {
  readonly [Name in InternalEvent['name']]: Definition<Extract<InternalEvent, { name: Name }>>
}
export type SomeDefinitions = Partial<Definitions>
