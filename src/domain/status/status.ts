import type { UnexpectedNames } from '../event/unexpected.ts'
import type { RouteStanding } from '../plan/route-state.ts'
import type { GapReason, Stream } from '../stream.ts'

/** Instants are ISO 8601 here. */
export interface ErrorStatus {
  readonly code: string
  readonly message: string
  readonly failures: number
  readonly since: string
  readonly retryAt: string
}

/** What is said of a route without its days. */
export interface RouteSummary extends Pick<Stream, 'zone' | 'sink'> {
  readonly name: string
  readonly account: string
  readonly state: RouteStanding
  readonly lagSeconds: number
  readonly caughtUpAt: string
  readonly newestEventAt?: string | undefined
  readonly timeToLossSeconds?: number | undefined
  /** The oldest day that is open or settling, and when the API stops to list it. Absent where there is none. */
  readonly unfinished?: { readonly day: string; readonly apiDeadlineAt: string } | undefined
  readonly lastError?: ErrorStatus | undefined
  /** What of its entries shieldlog does not know, while that lasts: names, never values. */
  readonly unexpected?:
    { readonly names: UnexpectedNames; readonly since: string; readonly latest: string } | undefined
}

/** A route that the store knows and the configuration does not name. */
export interface LeftRoute extends Pick<Stream, 'zone' | 'sink'> {
  /** Days that a configured route would still be read on, and those that were not read to their end. */
  readonly unfinishedDays: readonly string[]
  /** Those of them that were not read to their end. */
  readonly unreadDays: readonly string[]
  /** What left the configuration: the zone, or its sink. */
  readonly left: 'zone' | 'sink'
  /** With `zones: all`: the API lists the zone no more. Absent for a route that left the configuration. */
  readonly retired?: true
}

export interface WorkerStatus {
  readonly role: 'all' | 'scheduler' | 'worker'
  /** For people: process, host and since when. */
  readonly name: string
  readonly pid?: number
  readonly host?: string
  readonly startedAt?: string
}

/** One cause, however many routes have it. Texts are safe to print. */
export interface StatusProblem {
  /**
   * The most urgent first:
   * - `gap`: events were lost, and nobody has acknowledged it.
   * - `stopped`: nothing ships.
   * - `failing`: the last try of these routes ended with an error. `behind`: they have a long lag without an error.
   * - `lost`: a destination says that it dropped events which it had accepted.
   * - `dead_letters`: a sink refused events.
   * - `unconfigured`: a route left the configuration with unfinished days.
   * - `unexpected`: the API lists entries that are not as shieldlog knows them.
   * - `filtered`: `where` and `sample` of a sink left out every event of today.
   */
  readonly kind:
    | 'gap'
    | 'stopped'
    | 'failing'
    | 'behind'
    | 'lost'
    | 'dead_letters'
    | 'unconfigured'
    | 'unexpected'
    | 'filtered'
  readonly text: string
  /** What to do about it; empty where the text says all. */
  readonly remedy: string
  /** The first command to type, without the name of the program. */
  readonly command?: string
  /** How many routes; absent where it is not about routes. */
  readonly routes?: number
  /** Absent where it is about several sinks or none. */
  readonly sink?: string
  /** The first of the routes. */
  readonly zone?: number
  readonly name?: string
  /** Of a gap. */
  readonly reason?: GapReason
  /** Of a failure: that of the first route. */
  readonly lastError?: ErrorStatus
  /** The earliest API deadline of their oldest unfinished days. */
  readonly apiDeadlineAt?: string
}

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
