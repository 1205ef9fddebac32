import type { Checkpoint } from '../domain/checkpoint.ts'
import type { DeadLetter } from '../domain/event/delivery.ts'
import type { Identity } from '../domain/event/event.ts'
import type { Gap } from '../domain/gap.ts'
import type { MinuteCount } from '../domain/event/seen.ts'
import type { Stream } from '../domain/stream.ts'

/**
 * What of each stream the sink has taken responsibility for, and who may write it down. A stream has one writer: whoever
 * holds its latest fence.
 */
export interface Ledger {
  /**
   * Raises the stream's fence for a new pump and returns it with the checkpoint, read in the same step. Throws Failure
   * `held` (wait) while another holder that was heard from within 20 s (by the store's clock) has the stream; a holder
   * with the schedule lock need not wait for a holder that had the same lock before it.
   */
  take(stream: Stream, holder: Holder): Promise<Taken>
  /** Tells that this holder lives; all its streams stay its own. To be called every 5 s. */
  heartbeat(holder: Holder): Promise<void>
  /** Whether this fence is still the stream's latest. */
  holds(stream: Stream, fence: number): Promise<boolean>
  /** Lets go of a stream, so that the next pump need not wait. Ignored under a lost fence. */
  release(stream: Stream, fence: number): Promise<void>
  /**
   * Writes everything of the commit, or nothing. A backfill of the id of `next.lastRequest` has the stream settled in the
   * same step, as that answer says, unless it is settled there already. `done` also when this very commit was written before (a repeated call
   * after a lost answer); `refused` unless fence and `basedOn` are what the store holds. Throws `dead_letters_full`
   * (stop) when the dead letters would pass their limit; then nothing is written.
   */
  commit(commit: Commit): Promise<'done' | 'refused'>
  read(stream: Stream): Promise<Checkpoint | undefined>
  /** Packed fingerprints of the given minutes; a minute without any is missing from the map. */
  loadSeen(stream: Stream, minutes: readonly number[]): Promise<Map<number, Uint8Array>>
  /** The ledger: count and order-free hash of every minute, also after the fingerprints are gone. */
  minutes(stream: Stream): Promise<MinuteCount[]>
}

/** Who pumps: one value for the life of a process. */
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
  /** Those to take out, before others are added: their events count as not delivered. One that is not there is none. */
  readonly unsee?: ReadonlyMap<number, Uint8Array>
  /** Of this very stream. */
  readonly deadLetters: readonly DeadLetter[]
  /**
   * Dead letters of this very stream that go with this step, since the sink has their events now or nobody wants them.
   * One that is not there is none; one that `deadLetters` names too stays, as it is told there.
   */
  readonly removedDeadLetters?: readonly Identity[]
  readonly gaps: readonly Gap[]
}
