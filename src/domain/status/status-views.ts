import type { AuditRecord, FileAudit, StreamAudit } from '../audit-report.ts'
import type { Counters } from '../checkpoint.ts'
import type { CommittedPart, DeadLetter, SinkDeadLetters } from '../event/delivery.ts'
import type { Ordering } from '../scan/ordering.ts'
import type { Stream } from '../stream.ts'
import type { Observation } from './observation.ts'
import type {
  ErrorStatus,
  FleetStatus,
  GapStatus,
  RouteStatus,
  RouteSummary,
  StatusProblem,
} from './status.ts'

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
  readonly sink?: string
  readonly state?: CellState
  readonly sort: (typeof mapSorts)[number]
  /** From 1. */
  readonly page: number
  /** Routes on a page. */
  readonly size: number
}

/** A day of a route. A day that was never planned has no cell. */
export interface CellView {
  readonly day: string
  readonly state: CellState
  /** Delivered ones. */
  readonly events: number
  readonly deadLetters?: number | undefined
  readonly gaps?: number | undefined
}

export interface MapRoute extends RouteSummary {
  readonly eventsToday: number
  readonly cells: readonly CellView[]
  /** A value for each of the last 60 minutes, the current one last; null where nothing was measured. */
  readonly history: {
    /** The longest lag of the minute. */
    readonly lagSeconds: readonly (number | null)[]
    readonly eventsPerSecond: readonly (number | null)[]
  }
}

/** The whole fleet, with the routes of one page of the map. */
export interface MapView extends FleetStatus {
  readonly version: string
  readonly readableDays: number
  /** Days of the map, the oldest first. */
  readonly days: readonly string[]
  readonly sinks: readonly string[]
  readonly totals: {
    readonly zones: number
    readonly routes: number
    readonly states: Readonly<Record<RouteStatus['state'], number>>
    readonly cells: Readonly<Record<CellState, number>>
    readonly gaps: number
    /** Days with gaps that nobody has acknowledged. */
    readonly lostDays: number
    readonly deadLetters: number
    /** Past days that were not read to their end. */
    readonly unreadDays: number
  }
  /** Of all routes, the oldest. */
  readonly unfinished: RouteSummary['unfinished']
  /** At most 12. */
  readonly problems: readonly StatusProblem[]
  readonly problemsLeftOut: number
  readonly chosen: {
    readonly routes: number
    readonly page: number
    readonly pages: number
    readonly size: number
  }
  readonly routes: readonly MapRoute[]
  readonly queues: Observation['queues']
  /** Accounts whose API asked for a pause. */
  readonly pauses: readonly { readonly account: string; readonly until: string }[]
}

export interface ScanView {
  readonly kind: 'full' | 'incremental'
  readonly state: 'under way' | 'complete'
  readonly beganAt: string
  readonly endedAt?: string
  readonly pages: number
  /** Events that were unseen before. */
  readonly found: number
  /** Time that its pages took. */
  readonly tookSeconds: number
}

/** One day of a route, from its checkpoint and the ledger. */
export interface DayView extends DayQuery, Pick<RouteSummary, 'name' | 'account'> {
  readonly at: string
  readonly version: string
  readonly state: CellState
  /** That of the stream, whatever else the cell shows. */
  readonly streamState: string
  readonly counters: { readonly [Name in keyof Counters]-?: number }
  /** By the ledger: which events the sink took responsibility for. */
  readonly ledger: {
    readonly events: number
    /** For each minute of the day, 1440 values. */
    readonly minutes: readonly number[]
    /** Without a usable time. */
    readonly untimed: number
    /** Order-free hash of all events, 16 hex digits. */
    readonly hash: string
  }
  readonly ordering: Omit<Ordering, 'evidence'>
  readonly scans: readonly ScanView[]
  readonly gaps: readonly Omit<GapStatus, 'day'>[]
  readonly parts: readonly CommittedPart[]
  /** Committed objects of an s3 sink, and their size in the bucket; absent where there are none. */
  readonly objects?: { readonly count: number; readonly bytes: number }
  readonly deadLetters: readonly Pick<SinkDeadLetters, 'reason' | 'count' | 'bytes'>[]
  /** What the latest audit of the day found, at that time. Counts are events. */
  readonly audit?: Omit<AuditRecord, 'atMs'> & { readonly at: string }
  readonly lastError?: ErrorStatus
  readonly lastCommitAt?: string
  readonly caughtUpAt?: string
  readonly endedAt?: string
  /** When the next scan is or was due; absent where none is due any more. */
  readonly nextScanAt?: string
  /** When the API stops to list the day. */
  readonly apiDeadlineAt: string
}

/** A day of a route, as a person names it. */
export type DayQuery = Omit<Stream, 'day'> & { readonly day: string }

/** Dead letters of one day of a route, the first of them. */
export interface DeadLettersView {
  readonly count: number
  /** At most 20. */
  readonly deadLetters: readonly (Pick<DeadLetter, 'id' | 'time' | 'reason' | 'answer'> & {
    readonly at: string
    /** The event in native form, redacted as for the sink, as JSON text of at most 8,000 characters. */
    readonly event: string
  })[]
}

type TailText = 'time' | 'action' | 'rule' | 'method' | 'url' | 'address' | 'country' | 'asn'

/** An event as the API lists it, redacted as for sinks. Texts are at most 300 characters; empty where absent. */
export interface TailEvent extends Readonly<Record<TailText, string>> {
  /** Counts from 1 since the reading began. */
  readonly number: number
}

/** Since the event that the query named. */
export interface TailView {
  /** Number of the newest. */
  readonly last: number
  /** At most 200, the oldest first. */
  readonly events: readonly TailEvent[]
  /** Events that came too fast to be shown. */
  readonly leftOut: number
  /** How often the API was read; 0 while the first reading is under way. */
  readonly polls: number
  readonly everySeconds: number
  /** Why the last reading failed. */
  readonly problem?: string
}

export interface StatusViews {
  map(query: MapQuery): Promise<MapView>
  /** Undefined for a route that is not configured, and for a day that nothing is known of. */
  day(query: DayQuery): Promise<DayView | undefined>
  deadLetters(query: DayQuery): Promise<DeadLettersView | undefined>
  /** Reads the API while somebody asks, from this number of an event on. Undefined for a zone that is not configured. */
  tail(query: { readonly zone: number; readonly after: number }): TailView | undefined
}

/** What the audit found of one route and day, in words. */
export interface ReportResult {
  readonly text: string
  readonly tone: 'good' | 'bad' | 'warn' | 'dim'
}

/** What was compared of one route and day, and what came of it. */
export interface ReportRow extends DayQuery {
  readonly name: string
  readonly result: ReportResult
  /** Absent where the API could not be read. */
  readonly stream: StreamAudit | undefined
  /** Absent where no files were read. */
  readonly file: FileAudit | undefined
}

/** What there is to say of a comparison, and a line for each bad line and each part that differs. */
export interface DayText {
  readonly text: string
  readonly details: readonly string[]
}

/** One day of a route with its figures. */
export interface ReportDay extends ReportRow {
  readonly view: DayView
  /** Of the comparison with the API, and of that with the files. */
  readonly texts: readonly DayText[]
  /** What the API listed, and when its last page was read; absent where it could not be read. */
  readonly listed?: DayView['ledger'] & { readonly at: string }
}

/** What `audit --report` writes. Instants are ISO 8601. */
export interface ReportView {
  readonly api: string
  readonly beganAt: string
  readonly endedAt: string
  readonly version: string
  readonly host: string
  /** Its file; absent where there was none. */
  readonly configuration?: string
  /** SHA-256 of the settings in force, secrets masked, in hex: the same settings give the same. */
  readonly settingsHash: string
  /** The store, without secrets, and its id. */
  readonly state: string
  readonly level: 'well' | 'attention' | 'bad'
  readonly headline: string
  readonly scope: string
  /** Lines of files were compared. */
  readonly isDeep: boolean
  /** What could not be compared or repaired. */
  readonly failures: readonly string[]
  readonly rows: readonly ReportRow[]
  readonly days: readonly ReportDay[]
}
