import { dayMs } from './day.ts'
import type { CommittedPart } from './event/delivery.ts'
import type { Drift } from './event/unexpected.ts'
import type { FailureCode, FailureKind } from './failure.ts'
import type { Cursor } from './scan/page.ts'
import type { Removed } from './retention.ts'
import type { Stream } from './stream.ts'
import type { Scan, ScanKind, ScanRecord } from './scan/scan.ts'
import type { Ordering } from './scan/ordering.ts'

/** Where an incremental scan of an oldest-first listing may start: what opened a page, and its newest event time. */
export interface StoredCursor {
  readonly cursor: Cursor
  readonly newestMs: number
}

/** Why a stream makes no progress, and when the next pump may retry. */
export interface Trouble {
  readonly kind: FailureKind
  readonly code: FailureCode
  readonly message: string
  /** Failures in a row; `sinceMs` is the time of the first, `atMs` that of the latest. */
  readonly count: number
  readonly sinceMs: number
  readonly atMs: number
  readonly retryAtMs: number
  /** An earlier trouble with the listing; it is in force again once this one has passed. */
  readonly under?: Omit<Trouble, 'under'>
}

/** The outcome of a read request; written in the commit that answers it. */
export interface RequestAnswer {
  readonly id: string
  readonly outcome: 'done' | 'left_out'
  /** Unseen events that its scan found. */
  readonly found?: number
  readonly reason?: string
}

/** `complete`: its last scan is done; `expired`: its day could no longer be read. */
export interface Ended {
  readonly as: 'complete' | 'expired'
  readonly atMs: number
}

/** Scans in a row that reached the end of the listing and had met too few known events. */
export interface Shrunken {
  readonly scans: number
  /** What the latest full one missed, how many in a row missed as many, and when the first of these began. */
  readonly missing: number
  readonly same: number
  readonly sinceMs: number
}

/** What a person wants to be shipped once more. Lag and state of the stream are as if it had been shipped. */
interface Resend {
  /** Id of its read request. While that waits, nothing else reads the day. */
  readonly request: string
  /** How many events the API had listed before. */
  readonly was: number
  /** How many were found since. */
  readonly found: number
}

export interface Counters {
  readonly pages: number
  readonly events: number
  readonly delivered: number
  readonly duplicates: number
  readonly late: number
  /** Events that the sink refused and that wait in the store. A replay makes them delivered ones. */
  readonly deadLetters: number
  readonly dropped?: number | undefined
  /** Events that `where` and `sample` of the sink leave out; absent if there are none. */
  readonly filtered?: number | undefined
  /** Of the delivered events, those that the destination says it dropped, without saying which; absent if none. */
  readonly lost?: number | undefined
  /** Events that the destination takes no more, since they are too old; absent if there are none. */
  readonly skipped?: number | undefined
}

/** A counter that few streams have stays absent while it is 0, so that their checkpoints stay small. */
export function counted(counters: Counters, more: Partial<Counters>): Counters {
  const sums: { -readonly [Name in keyof Counters]: Counters[Name] } = { ...counters }
  for (const name of Object.keys(more) as (keyof Counters)[]) {
    const sum = (counters[name] ?? 0) + (more[name] ?? 0)
    if (sum !== 0 || counters[name] !== undefined) sums[name] = sum
  }
  return sums
}

/** What a sink's files or objects held when it was stored. */
export type CommittedFiles = Pick<Checkpoint, 'committed' | 'objects'>

/**
 * The durable progress of one stream. One value, written whole in one atomic step with the fingerprints, committed
 * lengths and dead letters of the page that it follows. All instants are ms since the epoch by the API's clock (the
 * host clock corrected by the offset of the API's latest `Date`).
 */
export interface Checkpoint {
  readonly stream: Stream
  /** How many commits the stream has had; a commit names the number that it builds on. */
  readonly commit: number
  readonly createdAtMs: number
  readonly ordering: Ordering
  /** Unfinished scans; the next pump continues them at their cursors. A full one yields to an incremental one. */
  readonly full?: Scan | undefined
  readonly incremental?: Scan | undefined
  /** Scan kind of the page committed last: full and incremental scans that are both due take turns. */
  readonly lastPage?: ScanKind
  readonly lastFull?: ScanRecord
  readonly lastIncremental?: ScanRecord | undefined
  /** When the first request of the latest complete scan that counts for lag was sent. */
  readonly caughtUpAtMs?: number
  /** Newest event time delivered so far that does not lie in the future. */
  readonly newestMs?: number | undefined
  readonly storedCursors: readonly StoredCursor[]
  /**
   * Fingerprints (16 hex digits) of events, as they are listed, at most 32: on the first page of the latest complete
   * scan, or on the last one where the listing is oldest-first.
   */
  readonly mark: readonly string[]
  /**
   * How many different events the API has listed to this stream, as they are listed: those with an own id, and what came
   * from elsewhere (an archive, a repair), are left out, since the API need not list them.
   */
  readonly listed: number
  /** How many of them it lists no more, as three full scans in at least a day have shown. */
  readonly gone?: number | undefined
  /** The day was made to count as not shipped, and no full scan has been complete since. */
  readonly resend?: Resend | undefined
  /** The latest scans met fewer of them than they must. */
  readonly shrunken?: Shrunken | undefined
  /** Events that became known since the latest complete full scan, and requests of incremental scans since then. */
  readonly newSinceFull: number
  readonly pollPagesSinceFull: number
  /** How often the last scan of a past day was repeated because it found something new. */
  readonly settleRepeats: number
  /** Consecutive scans that restarted because of an expired cursor; each doubles the time slice. */
  readonly restarts: number
  readonly counters: Counters
  readonly committed: readonly CommittedPart[]
  /**
   * Number of the latest object, and the bytes of all; absent where the sink writes none, or none yet. The size of each
   * is stored beside the checkpoint.
   */
  readonly objects?: { readonly last: number; readonly bytes: number }
  /** Sizes of those that were changed in the bucket, of which a repair has shipped what they lack. */
  readonly resizedObjects?: Readonly<Record<number, number>>
  /** Numbers of those that the bucket has lost, of which a repair has counted the events as not delivered. */
  readonly repairedObjects?: readonly number[]
  /** Changes of lines or committed lengths by anything but a page or a replay; after one, an audit compares again. */
  readonly repairs?: number
  /** The sink's retention has removed the files of the day; committed lengths are those of later ones. */
  readonly removed?: Removed
  /**
   * Since when the day is being shipped from an archive (`backfill --source`); absent once all of it is. No scan of an
   * archive is kept: files grow and move, so that another try begins at the first line and skips what is seen.
   */
  readonly archiveSinceMs?: number | undefined
  readonly trouble?: Trouble | undefined
  /** Trouble of the read request with this id; it does not affect the live stream's state, lag or readiness. */
  readonly requestTrouble?: (Trouble & { readonly request: string }) | undefined
  readonly lastRequest?: RequestAnswer
  readonly ended?: Ended | undefined
  /** A scan ended incomplete: the next one is full, and no incremental one comes before it. */
  readonly needsFull: boolean
  /** What of its entries shieldlog does not know; absent where there is nothing, or no more. */
  readonly drift?: Drift | undefined
  readonly lastCommitAtMs: number
}

export function newCheckpoint(stream: Stream, nowMs: number, ordering: Ordering): Checkpoint {
  return {
    stream,
    commit: 0,
    createdAtMs: nowMs,
    ordering,
    storedCursors: [],
    mark: [],
    listed: 0,
    newSinceFull: 0,
    pollPagesSinceFull: 0,
    settleRepeats: 0,
    restarts: 0,
    counters: { pages: 0, events: 0, delivered: 0, duplicates: 0, late: 0, deadLetters: 0 },
    committed: [],
    needsFull: false,
    lastCommitAtMs: nowMs,
  }
}

/**
 * What the store knows of a stream's parts. Of one that has ended, parts that were opened before `knownSinceMs` and have
 * no committed length are of a checkpoint that was dropped (`state.keepDays`). That is one day before the checkpoint,
 * since the names of parts have the times of a host's clock. Or they are of a removal that was interrupted.
 */
export function committedLengths(storeId: string, checkpoint: Checkpoint | undefined) {
  const { ended, createdAtMs = 0, committed = [], removed } = checkpoint ?? {}
  const knownSinceMs = removed?.atMs ?? createdAtMs - dayMs
  return { storeId, committed, ...(ended !== undefined && { knownSinceMs }) }
}

/** Whether the day was shipped, at least in part: reading it again without its checkpoint would ship events twice. */
export function hasShipped({ counters, committed, removed, ended }: Checkpoint): boolean {
  if (ended?.as === 'complete' || removed !== undefined) return true
  const { delivered, deadLetters, dropped = 0 } = counters
  return delivered + deadLetters + dropped + committed.length > 0
}

/** Counts dead letters as delivered by a replay, or as dropped by a person. Both stay in the ledger. */
export function settleDeadLetters(
  checkpoint: Checkpoint,
  settled: { readonly delivered?: number; readonly dropped?: number; readonly lost?: number },
): Checkpoint {
  const { counters } = checkpoint
  const left = Math.min(counters.deadLetters, (settled.delivered ?? 0) + (settled.dropped ?? 0))
  return { ...checkpoint, counters: counted(counters, { ...settled, deadLetters: -left }) }
}

/** After a scan ended incomplete or its cursor expired: drops all unfinished scans; the next one is full. */
export function dropScans(checkpoint: Checkpoint): Checkpoint {
  return { ...checkpoint, full: undefined, incremental: undefined, needsFull: true }
}
