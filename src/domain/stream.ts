import type { Day } from './day.ts'

/** A shield zone as the configuration names it. */
export interface Zone {
  readonly id: number
  readonly name: string
  /** The account whose key reads it and whose request budget it uses. */
  readonly account: string
}

/** One zone, one day, one sink: the unit of work, of a checkpoint and of a job. */
export interface Stream {
  readonly zone: number
  readonly day: Day
  readonly sink: string
}

/** Text form that is unique for each stream and sorts by zone, then day. */
export function streamKey({ zone, day, sink }: Stream): string {
  return `${zone}/${day}/${sink}`
}

/** The stream alone, of a value that holds more. */
export function onlyStream({ zone, day, sink }: Stream): Stream {
  return { zone, day, sink }
}

/** The timer starts live work; a person requests a backfill. */
export type Priority = 'live' | 'backfill'

/** A zone and sink that the store knows, with the first day that is planned for it; kept for good. */
export interface Route extends Pick<Stream, 'zone' | 'sink'> {
  readonly firstDay: Day
  /** Last instant at which the route was part of a running configuration. */
  readonly plannedAtMs: number
}

export function routeKey(zone: number, sink: string): string {
  return `${zone}/${sink}`
}
