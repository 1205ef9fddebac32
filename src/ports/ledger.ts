import type { AuditRecord } from '../domain/audit-report.ts'
import type { Checkpoint } from '../domain/checkpoint.ts'
import type { DeadLetter } from '../domain/event/delivery.ts'
import type { Identity } from '../domain/event/event.ts'
import type { Gap } from '../domain/gap.ts'
import type { MinuteCount } from '../domain/event/seen.ts'
import type { Stream } from '../domain/stream.ts'

/**
 * Which events of each stream its sink has taken responsibility for, and who may record that. A stream has one writer:
 * the holder of its latest fence.
 */
export interface Ledger {
  /**
   * Raises the stream's fence for a new pump and returns it with the checkpoint, read in the same step. Throws Failure
   * `held` (wait) while another holder has the stream and its last heartbeat is less than 20 s old (by the store's
   * clock); a holder with the schedule lock does not wait for an earlier holder of the same lock.
   */
  take(stream: Stream, holder: Holder): Promise<Taken>
  /** Records that this holder is alive, which keeps all its streams. Call it every 5 s. */
  heartbeat(holder: Holder): Promise<void>
  /** Whether this fence is still the stream's latest. */
  holds(stream: Stream, fence: number): Promise<boolean>
  /** Releases a stream, so that the next pump need not wait. Ignored when the fence is lost. */
  release(stream: Stream, fence: number): Promise<void>
  /**
   * Writes everything of the commit, or nothing. The same step writes the outcome of `next.lastRequest` into the
   * backfill with that id, if the stream is still queued there. Returns `done` also when this very commit was written
   * before (a repeated call after a lost answer), and `refused` unless fence and `basedOn` match the store. Throws
   * `dead_letters_full` (stop) when the dead letters would exceed their limit; then nothing is written.
   */
  commit(commit: Commit): Promise<'done' | 'refused'>
  read(stream: Stream): Promise<Checkpoint | undefined>
  /** Packed fingerprints of the given minutes; a minute without any is missing from the map. */
  loadSeen(stream: Stream, minutes: readonly number[]): Promise<Map<number, Uint8Array>>
  /** Count and order-free hash of every minute; kept after the fingerprints are dropped. */
  minutes(stream: Stream): Promise<MinuteCount[]>
  /**
   * Whether fingerprints of the stream were dropped: reading its day again would ship these events again. Stays true as
   * long as the store has the stream, whatever is committed afterwards. A stream with fingerprints to drop keeps all of
   * them until `forgetFingerprints` is called.
   */
  isIndexDropped(stream: Stream): Promise<boolean>
  /**
   * Keeps what an audit of the stream found, in place of the one before, as long as its checkpoint is kept. Needs no
   * fence, since nothing is decided by it. Ignored for a stream that was never pumped.
   */
  noteAudit(stream: Stream, record: AuditRecord): Promise<void>
  /** What the latest audit found; undefined without one. */
  auditOf(stream: Stream): Promise<AuditRecord | undefined>
}

/** The process that runs pumps: one value for its whole life. */
export interface Holder {
  /** Random, never reused. */
  readonly id: string
  /** True for the process that holds the schedule lock of an embedded store. */
  readonly schedule: boolean
}

export interface Taken {
  readonly fence: number
  /** Undefined for a stream that was never pumped. */
  readonly checkpoint: Checkpoint | undefined
  readonly storeId: string
}

/** One page's outcome, written in one atomic step or not at all. */
export interface Commit {
  readonly fence: number
  /** `commit` of the checkpoint that this one builds on; 0 when there is none. The next value carries that plus one. */
  readonly basedOn: number
  readonly next: Checkpoint
  /** Packed fingerprints to add, by minute. */
  readonly seen: ReadonlyMap<number, Uint8Array>
  /**
   * Packed fingerprints to remove before adding others, or all: their events count as not delivered. Ignores unknown
   * ones.
   */
  readonly unsee?: ReadonlyMap<number, Uint8Array> | 'all'
  /** Of this very stream. */
  readonly deadLetters: readonly DeadLetter[]
  /**
   * Dead letters of this very stream to remove, since the sink has their events now or a person dropped them. Unknown
   * ones are ignored; one that is also in `deadLetters` stays, with the content given there.
   */
  readonly removedDeadLetters?: readonly Identity[]
  readonly gaps: readonly Gap[]
}
