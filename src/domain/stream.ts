import type { Day, DayRange } from './day.ts'

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

/** A zone's day, whatever the sink. */
export type ZoneDay = Pick<Stream, 'zone' | 'day'>

/** What makes a route: a zone and a sink. */
export type ZoneAndSink = Pick<Stream, 'zone' | 'sink'>

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
export interface Route extends ZoneAndSink {
  readonly firstDay: Day
  /** Last instant at which the route was part of a running configuration. */
  readonly plannedAtMs: number
  /** Days that were shipped, and of which the state has dropped what: none of them is planned again. */
  readonly pruned?: readonly DayRange[] | undefined
}

export function routeKey(zone: number, sink: string): string {
  return `${zone}/${sink}`
}

export const gapReasons = ['unreadable', 'not_running', 'not_configured', 'too_large', 'zone_gone'] as const
export type GapReason = (typeof gapReasons)[number]

/** Completes "events were lost, because …". */
export const gapReasonTexts: Readonly<Record<GapReason, string>> = {
  unreadable: 'the day was not read to its end before the API stopped listing it',
  not_running: 'no shieldlog process ran while the API listed the day',
  not_configured: 'the route was not configured while the API listed the day',
  too_large: 'a page was larger than api.maxPageBytes',
  zone_gone: 'the API no longer knows the zone',
}

/** Events of a zone and sink that can no longer be read. `from` and `to` are instants in ms since the epoch. */
export interface Gap extends Stream {
  readonly from: number
  readonly to: number
  readonly reason: GapReason
  readonly recordedAt: number
  /** Copies of lines that were cut off files of the day: some of the events may be there. */
  readonly files?: readonly string[]
  /** When a person said that they know of it; absent until then. An acknowledged gap stays one, without an alarm. */
  readonly acknowledgedAt?: number
  /** When a full scan that began after the gap had read the whole day after all: nothing is known to be lost. */
  readonly readAt?: number
}

/** Nobody knows of it, and the day was not read since. */
export function isOpenGap(gap: { readonly acknowledgedAt?: unknown; readonly readAt?: unknown }): boolean {
  return gap.acknowledgedAt === undefined && gap.readAt === undefined
}
