import type { CommittedPart } from './delivery.ts'
import type { FailureCode, FailureKind } from './failure.ts'
import type { Cursor } from './page.ts'
import type { Stream } from './stream.ts'
import type { RequestAnswer } from './read-request.ts'
import type { Sweep, SweepKind, SweepRecord } from './sweep.ts'
import type { Trust } from './trust.ts'

/** Where a partial sweep of an oldest-first listing may start: the cursor that opened a page, and its newest event time. */
export interface StoredCursor {
  readonly cursor: Cursor
  readonly newestMs: number
}

/** Why a stream does not move, and when it is tried again. */
export interface Trouble {
  readonly kind: FailureKind
  readonly code: FailureCode
  readonly message: string
  /** Failures in a row. */
  readonly count: number
  /** Of the first failure in a row, and of the latest. */
  readonly sinceMs: number
  readonly atMs: number
  readonly retryAtMs: number
  /** A trouble with the listing that stood before: what passes meanwhile does not end it. */
  readonly under?: Omit<Trouble, 'atMs' | 'retryAtMs' | 'under'>
}

/** How a stream ended: `closed` when its last sweep is done, `expired` when its day could no longer be read. */
export interface Ended {
  readonly as: 'closed' | 'expired'
  readonly atMs: number
}

export interface Counters {
  readonly pages: number
  readonly events: number
  readonly delivered: number
  readonly duplicates: number
  readonly late: number
  /** Events that the sink refused and that wait in the store. A replay makes them delivered ones. */
  readonly deadLetters: number
  /** Dead letters that a person dropped. */
  readonly dropped?: number
}

/**
 * The durable progress of one stream. One value, written whole in one atomic step with the fingerprints, committed lengths and
 * dead letters of the page that it follows. All instants are ms since the epoch by the API's clock (the host clock
 * corrected by the offset of the API's latest `Date`).
 */
export interface Checkpoint {
  readonly stream: Stream
  /** How many commits the stream has had; a commit names the number that it builds on. */
  readonly commit: number
  readonly createdAtMs: number
  readonly trust: Trust
  /** Unfinished sweeps; the next pump continues them at their cursors. A full one yields to a partial one. */
  readonly full?: Sweep
  readonly partial?: Sweep
  /** Of which kind the page was that was committed last: full and partial sweeps that are both due take turns. */
  readonly lastPage?: SweepKind
  /** The latest complete sweep of each kind. */
  readonly lastFull?: SweepRecord
  readonly lastPartial?: SweepRecord
  /** When the first request of the latest complete sweep that counts for lag was sent. */
  readonly caughtUpAtMs?: number
  /** Newest event time delivered so far that does not lie in the future. */
  readonly newestMs?: number
  /** Oldest event time on the last committed page; bounds lag during a first sweep. */
  readonly oldestOnPageMs?: number
  readonly storedCursors: readonly StoredCursor[]
  /** Fingerprints (16 hex digits) of the first page of the latest complete sweep, at most 32. */
  readonly mark: readonly string[]
  /** Events that became known since the latest complete full sweep, and requests of partial sweeps since then. */
  readonly newSinceFull: number
  readonly pollPagesSinceFull: number
  /** How often the last sweep of a past day was repeated because it found something new. */
  readonly settleRepeats: number
  /** Sweeps that were begun anew in a row because of an expired cursor; each doubles the time slice. */
  readonly restarts: number
  readonly counters: Counters
  readonly committed: readonly CommittedPart[]
  /** How often lines or committed lengths changed otherwise than by a page or a replay: who compared them before looks again. */
  readonly mends?: number
  /**
   * Scans of an archive (`backfill --source`) by request, apart from those of the API: they touch no ordering, lag or
   * state of the live stream. While there is one the stream's fingerprints stay. A scan is never continued by another
   * request: files grow and move, so a new request begins at the first line and goes by what is seen.
   */
  readonly archives?: Readonly<Record<string, Sweep>>
  readonly trouble?: Trouble
  /** Of a person's read request, named by its id: it does not touch the live stream's state, lag or readiness. */
  readonly requestTrouble?: Trouble & { readonly request: string }
  readonly lastRequest?: RequestAnswer
  readonly ended?: Ended
  /** A sweep ended incomplete: the next one is full, and no partial one comes before it. */
  readonly needsFull: boolean
  readonly lastCommitAtMs: number
}
