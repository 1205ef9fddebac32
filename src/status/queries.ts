import type { Stream } from '../domain/stream.ts'

/**
 * What the status page shows of one day of a route, the most urgent first:
 * - `failing`: the last try ended with an error, and nobody else will fix it.
 * - `gap`: some events of the day can no longer be read.
 * - `unread`: the day was not read to its end yet, but still can be.
 * - `dead_letters`: the sink refused some events, which wait for a person.
 * - `expired`: the day was read after its end, but became unreadable before its last settling scan.
 * - `open`, `settling`, `complete`: as of the stream.
 */
export const cellStates = [
  'failing',
  'gap',
  'unread',
  'dead_letters',
  'expired',
  'open',
  'settling',
  'complete',
] as const
export type CellState = (typeof cellStates)[number]

export const mapSorts = ['state', 'zone', 'sink', 'lag', 'events'] as const

/** Which routes of the completeness map to answer. */
export interface MapQuery {
  /** Part of a zone's name, id or sink, in any case; empty for all. */
  readonly filter: string
  readonly sink?: string | undefined
  readonly state?: CellState | undefined
  readonly sort: (typeof mapSorts)[number]
  /** From 1. */
  readonly page: number
  /** Routes on a page. */
  readonly size: number
}

/** A day of a route, as a person names it. */
export type DayQuery = Omit<Stream, 'day'> & { readonly day: string }
