import type { Counters } from '../checkpoint.ts'
import type { SinkDeadLetters } from '../event/delivery.ts'
import type { GapReason } from '../gap.ts'
import type { RouteStanding } from '../plan/route-state.ts'
import type { Stream } from '../stream.ts'

/** What `status` says of one day of a zone and sink. Instants are ISO 8601. */
export interface DayStatus extends Counters {
  readonly day: string
  readonly state: string
  readonly lagSeconds?: number | undefined
  readonly order: string
  readonly lastFullScanAt?: string | undefined
  /** Pages of the scan that is under way. */
  readonly scanningPages?: number | undefined
  readonly lastError?: ErrorStatus | undefined
}

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
}

export interface RouteStatus extends RouteSummary {
  readonly days: readonly DayStatus[]
  readonly gaps: readonly GapStatus[]
}

export interface GapStatus {
  readonly day: string
  readonly from: string
  readonly to: string
  readonly reason: GapReason
  readonly recordedAt: string
  /** Absent until a person has acknowledged it. */
  readonly acknowledgedAt?: string | undefined
}

export interface WorkerStatus {
  readonly role: 'all' | 'scheduler' | 'worker'
  /** For people: process, host and since when. */
  readonly name: string
  readonly pid?: number
  readonly host?: string
  readonly startedAt?: string
}

/** A backfill that is running or paused, or was created within the last day. */
export interface BackfillStatus {
  readonly id: string
  readonly createdAt: string
  readonly from: string
  readonly to: string
  readonly state: string
  /** Streams: one zone, one day, one sink. */
  readonly queued: number
  readonly done: number
  readonly leftOut: number
  readonly days: readonly BackfillDayStatus[]
  readonly reasons: readonly (Stream & { readonly reason: string })[]
  /** Of queued streams. */
  readonly errors: readonly (ErrorStatus & Stream)[]
}

export interface BackfillDayStatus {
  readonly day: string
  /** Only where the zones of a day are shown one by one. */
  readonly zone?: number
  readonly queued: number
  readonly done: number
  readonly leftOut: number
  readonly pages: number
  /** Absent while the number of pages is unknown. */
  readonly expectedPages?: number | undefined
  /** Events that were missing until then. */
  readonly events: number
}

/**
 * What a person should know, the most urgent first:
 * - `gap`: events were lost, and nobody has acknowledged it.
 * - `stopped`: nothing ships.
 * - `failing`: the last try of these routes ended with an error. `behind`: they have a long lag without an error.
 * - `lost`: a destination says that it dropped events which it had accepted.
 * - `dead_letters`: a sink refused events.
 * - `unconfigured`: a route left the configuration with unfinished days.
 * - `filtered`: `where` and `sample` of a sink left out every event of today.
 */
export type ProblemKind =
  'gap' | 'stopped' | 'failing' | 'behind' | 'lost' | 'dead_letters' | 'unconfigured' | 'filtered'

/** One cause, however many routes have it. Texts are safe to print. */
export interface StatusProblem {
  readonly kind: ProblemKind
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

export interface Status extends FleetStatus {
  readonly problems: readonly StatusProblem[]
  readonly routes: readonly RouteStatus[]
}

/** What is said of a fleet without its routes. */
export interface FleetStatus {
  readonly at: string
  readonly deadLetters: readonly SinkDeadLetters[]
  /** Routes that the store knows and the configuration does not name. */
  readonly unconfigured: readonly (Pick<Stream, 'zone' | 'sink'> & {
    /** Days that a configured route would still be read on, and those that were not read to their end. */
    readonly unfinishedDays: readonly string[]
    /** Those of them that were not read to their end. */
    readonly unreadDays: readonly string[]
    /** Those of the unread ones that the API no longer lists. */
    readonly goneDays: readonly string[]
    /** What left the configuration: the zone, or its sink. */
    readonly left: 'zone' | 'sink'
    readonly gaps: readonly GapStatus[]
    /** With `zones: all`: the API lists the zone no more. Absent for a route that left the configuration. */
    readonly retired?: true
  })[]
  readonly workers: readonly WorkerStatus[]
  readonly backfills: readonly BackfillStatus[]
}
