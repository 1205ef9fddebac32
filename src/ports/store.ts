import type { Role } from './process.ts'
import type { AuditRecord } from '../domain/audit-report.ts'
import type { Checkpoint } from '../domain/checkpoint.ts'
import type { DeadLetter, DeadLetterCount, DeliveredObject } from '../domain/event/delivery.ts'
import type { Identity } from '../domain/event/event.ts'
import type { MinuteCount } from '../domain/event/seen.ts'
import type { Gap, Stream, Route } from '../domain/stream.ts'
import type { RememberedSink } from '../domain/remembered-sink.ts'
import type { ZoneList } from '../domain/zone-list.ts'
import type { NoticedAt } from '../domain/notices.ts'
import type { Backfill } from '../domain/plan/backfill.ts'
import type { Day } from '../domain/day.ts'

/**
 * Durable progress, in parts. Every method may throw Failure `store_unavailable` (retry) or `store_refuses` (stop).
 * Callers share listed checkpoints and backfills.
 */
export interface Store {
  /** Random; another id means another store. */
  readonly id: string
  readonly ledger: Ledger
  readonly catalogue: Catalogue
  readonly deadLetters: DeadLetters
  readonly backfills: Backfills
  readonly processes: Processes
  readonly upkeep: Upkeep
  readonly writes: Writes
  close(): Promise<void>
}

/**
 * Which events of each stream its sink has taken responsibility for, and who may record that. A stream has one writer:
 * the holder of its latest fence.
 */
export interface Ledger {
  /**
   * Raises the stream's fence for a new pump and returns it with the checkpoint, and with what `dropped` says, read in
   * the same step. Throws Failure
   * `held` (wait) while another holder has the stream and its last heartbeat is less than 20 s old (by the store's
   * clock); a holder with the schedule lock does not wait for an earlier holder of the same lock.
   */
  take(
    stream: Stream,
    holder: Holder,
  ): Promise<{
    readonly fence: number
    readonly checkpoint: Checkpoint | undefined
    readonly storeId: string
    readonly dropped: Dropped | undefined
  }>
  /** Keeps all streams of the holder; `facts` are for other processes. Call it every 5 s. */
  heartbeat(holder: Holder, facts?: ProcessFacts): Promise<void>
  /** Whether fence and commit are still the stream's latest. */
  holds(stream: Stream, fence: number, commit: number): Promise<boolean>
  /** Whether a live holder has the stream. */
  isHeld(stream: Stream): Promise<boolean>
  /** So that the next pump need not wait. Ignored when the fence is lost. */
  release(stream: Stream, fence: number): Promise<void>
  /**
   * Writes everything of the commit, or nothing. The same step writes the outcome of `next.lastRequest` into the
   * backfill with that id, if the stream is still queued there. Returns `done` also when this very commit was written
   * before (a repeated call after a lost answer), and `refused` unless fence and `basedOn` match the store. Throws
   * `dead_letters_full` (stop) when the dead letters would exceed their limit; then nothing is written.
   */
  commit(commit: Commit): Promise<'done' | 'refused'>
  read(stream: Stream): Promise<Checkpoint | undefined>
  /**
   * Packed fingerprints of the given minutes; a minute without any is missing from the map. `by`: what a pump builds on.
   * Throws `fence_lost` unless the store holds both at the moment of each read: one that lost commits lacks events that
   * were delivered.
   */
  loadSeen(
    stream: Stream,
    minutes: readonly number[],
    by?: Pick<Commit, 'fence' | 'basedOn'>,
  ): Promise<Map<number, Uint8Array>>
  /** Count and order-free hash of every minute; kept after the fingerprints are dropped. */
  minutes(stream: Stream): Promise<MinuteCount[]>
  /**
   * What the store has dropped of a day that was shipped, so that reading it again would ship events again: fingerprints
   * (`index`), or its checkpoint too (`day`). Stays so whatever is committed afterwards, but for a commit that unsees all.
   * A stream with fingerprints to drop keeps all of them until `dropIndex` is called.
   */
  dropped(stream: Stream): Promise<Dropped | undefined>
  /** Of its objects by number, from 1, as they were when they were committed; 0 where it is unknown. */
  objectSizes(stream: Stream): Promise<readonly number[]>
  /** Keeps what the latest audit found, as long as the checkpoint. Ignored for a stream that was never pumped. */
  noteAudit(stream: Stream, record: AuditRecord): Promise<void>
  auditOf(stream: Stream): Promise<AuditRecord | undefined>
}

export type Dropped = 'index' | 'day'

/** The process that runs pumps: one value for its whole life, with a random id. */
export interface Holder {
  readonly id: string
  /** True for the process that holds the schedule lock of an embedded store. */
  readonly schedule: boolean
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
   * Packed fingerprints to remove before adding others, or all: their events count as not delivered, whatever was dropped
   * of the stream. Ignores unknown ones.
   */
  readonly unsee?: ReadonlyMap<number, Uint8Array> | 'all'
  /** Of this very stream. */
  readonly deadLetters: readonly DeadLetter[]
  /**
   * Dead letters of this very stream to remove, since the sink has their events now or a person dropped them. Unknown
   * ones are ignored; one that is also in `deadLetters` stays, with the content given there.
   */
  readonly removedDeadLetters?: readonly Identity[]
  /** To add; those with `readAt` are known, and closed. */
  readonly gaps: readonly Gap[]
  /** The object that the delivery has used: the one after the latest. */
  readonly object?: Pick<DeliveredObject, 'number' | 'bytes'> | undefined
}

/** Whether this process can write to the store, which may be readable when it is full. Instants are ms since the epoch. */
export interface Writes {
  /** Why what this process wrote last failed; undefined while all is written. */
  failure(): WriteFailure | undefined
  /** When a write last failed, also where later ones did not. */
  failedAtMs(): number | undefined
  /** Writes as much as failed, and removes it again. Heartbeats do so while writes fail. Throws no Failure. */
  tryOne(): Promise<void>
}

export interface WriteFailure {
  readonly sinceMs: number
  readonly message: string
}

/** Data of all streams together, for plans, status and metrics. */
export interface Catalogue {
  /**
   * Checkpoints of all streams, ended ones included, without their marks. Called every second: what has not changed
   * is not read again.
   */
  checkpoints(): Promise<Checkpoint[]>
  routes(): Promise<Route[]>
  /** Of two first days of a route the earlier is kept; the instant of planning is replaced. */
  rememberRoutes(routes: readonly Route[]): Promise<void>
  gaps(): Promise<Gap[]>
  /** Of days missed while nothing ran. A gap that exists already is not added twice. */
  addGaps(gaps: readonly Gap[]): Promise<void>
  /** Returns how many of them were stored and not acknowledged yet. */
  acknowledgeGaps(gaps: readonly Gap[], atMs: number): Promise<number>
  /** Of streams whose latest audit found a difference. */
  differences(): Promise<AuditedStream[]>
  /** By name. */
  sinks(): Promise<RememberedSink[]>
  /** Stores kind and place of sinks. The former names of a known one stay. */
  rememberSinks(sinks: readonly Omit<RememberedSink, 'formerly'>[]): Promise<void>
  /** The lists of accounts whose zones are discovered, by account. Every process that ships reads its zones here. */
  zoneLists(): Promise<ZoneList[]>
  storeZoneList(list: ZoneList): Promise<void>
  /** What each place of `notify` was told. */
  noticed(): Promise<NoticedAt[]>
  /** Replaces what is known of its place; false if that is not `before` any more. */
  storeNoticed(noticed: NoticedAt, before: NoticedAt): Promise<boolean>
}

/** A stream with what its latest audit found. */
export interface AuditedStream extends AuditRecord {
  readonly stream: Stream
}

/** Events that a sink will never accept. A commit adds and removes those of its own stream. */
export interface DeadLetters {
  list(): Promise<DeadLetter[]>
  /** By stream and reason. */
  counts(): Promise<DeadLetterCount[]>
  /** In no order. */
  keys(stream: Stream): Promise<Identity[]>
  /** Those that still exist, in the order of the keys; callers pass at most 500 keys. */
  read(stream: Stream, keys: readonly Identity[]): Promise<DeadLetter[]>
}

/** Past days that people asked for. A commit that answers a backfill's read request also settles its stream here. */
export interface Backfills {
  add(backfill: Backfill): Promise<void>
  /**
   * All stored backfills, the oldest first. `state` is `done` once none of its streams is queued. Called every second:
   * of their streams, what has not changed since the last call is not read again.
   */
  list(): Promise<Backfill[]>
  /** Pauses, resumes or cancels one. False when there is none of that id, or it is done or cancelled already. */
  setState(id: string, state: 'running' | 'paused' | 'cancelled'): Promise<boolean>
}

/** The processes of a fleet, by the id of their holder. */
export interface Processes {
  /** The store's time, and those with facts whose last heartbeat is less than 20 s old, the oldest first. */
  living(): Promise<{ readonly nowMs: number; readonly living: readonly LivingProcess[] }>
  /** Call it when the process ends; pruning removes those that did not. */
  forget(id: string): Promise<void>
}

/** A process that ships, as it is told to people. */
export interface WorkerStatus {
  readonly role: Role
  /** For people: process, host and since when. */
  readonly name: string
  readonly pid?: number
  readonly host?: string
  readonly startedAt?: string
}

export interface ProcessFacts {
  readonly role: Role
  readonly host: string
  readonly pid: number
  readonly startedAtMs: number
  /** By account: the API's time minus that of the store. */
  readonly aheadMs: Readonly<Record<string, number>>
}

export interface LivingProcess extends ProcessFacts {
  readonly id: string
  readonly heardAtMs: number
}

/** Prunes a store, and renames or forgets a sink in it. */
export interface Upkeep {
  /**
   * Drops the fingerprints of an ended stream; its counts and hashes stay. False, and none is dropped, while a live
   * holder has the stream: its pump would ship again what it no longer finds.
   */
  dropIndex(stream: Stream): Promise<boolean>
  /**
   * Gives the new name everything that is stored of a sink, and keeps the old one as a former name; no records move.
   * Drops streams and routes that are stored under the new name. Throws Failure where it has gaps or dead letters, and
   * while a live holder has a stream of either. Returns how many streams the sink has.
   */
  renameSink(from: string, to: string): Promise<number>
  /**
   * Drops all that is stored of a sink, or of a zone: streams, routes, shipped days, gaps, dead letters. What a live holder
   * has stays: then it throws Failure `held` (wait). Returns how many streams it dropped.
   */
  forget(of: { readonly sink: string } | { readonly zone: number }): Promise<number>
  /**
   * Drops these streams, unless a live holder has them, and what was taken for days before `uncommittedBefore` and never
   * committed; remembers the days of those that were shipped. Also drops gaps and ended backfills made before `gapsBefore`.
   */
  prune(
    streams: readonly Stream[],
    old: { readonly uncommittedBefore: Day; readonly gapsBefore: number },
  ): Promise<void>
}
