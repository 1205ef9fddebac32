import type { Backfill, Backfilled } from './domain/backfill.ts'
import type { Checkpoint } from './domain/checkpoint.ts'
import type { Day } from './domain/day.ts'
import type { DeadLetterCount } from './domain/dead-letter-count.ts'
import type { DeadLetter } from './domain/delivery.ts'
import type { Event, Identity } from './domain/event.ts'
import type { Gap } from './domain/gap.ts'
import type { KeptEvent } from './domain/kept-event.ts'
import type { KnownPair } from './domain/known-pair.ts'
import type { Cursor, Page } from './domain/page.ts'
import type { MinuteCount } from './domain/seen.ts'
import type { SpanFacts, SpanName } from './domain/span.ts'
import type { Lane, Stream, Zone } from './domain/stream.ts'
import type { Happening } from './domain/happening.ts'

export type { DeadLetterCount, KnownPair, SpanFacts, SpanName }

/** Time. Everything that reads time or waits takes one, so that tests can shift it or run it faster. */
export interface Clock {
  /** ms since the epoch, by this host. */
  now(): number
  /** ms that never jump, for durations. */
  monotonic(): number
  /** Resolves after `ms`; rejects with a `cancelled` Failure as soon as the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/**
 * Reads one page of a zone's day, already normalised and redacted.
 *
 * Retries one request a few times within seconds (never longer than the port's caller is told: 10 s in all) and waits
 * for the account's request budget; remembers nothing else. Throws only Failure:
 * `window_closed`, `cursor_expired`, `unauthorised` (stop), `zone_gone`, `page_too_large` (refuse), `bad_body`,
 * `rejected`, `timeout`, `network`, `tls`, `server_error` (retry), `throttled` (wait, with `retryAt`), `cancelled`.
 * An entry that cannot be understood is an event that keeps its raw text; it never fails the page.
 */
export interface Source {
  /** Base URL; absent where nothing is asked over a network. */
  readonly address?: string
  fetchPage(request: PageRequest, signal: AbortSignal): Promise<Page>
}

export interface PageRequest {
  readonly zone: Zone
  readonly day: Day
  /** Null asks for the first page, in whichever form the API wants that said. */
  readonly cursor: Cursor | null
  readonly lane: Lane
  /** Whom the page is for: sinks share the memory that pages may take. Absent where it is for none, as in an audit. */
  readonly sink?: string
  /**
   * For a page that is fetched ahead: called once a good answer is there, which is then kept as bytes until this
   * resolves. Its events would take thrice as much.
   */
  readonly whenWanted?: () => Promise<void>
}

/** What all requests of one account share: a rate, and pauses that the API asked for. */
export interface AccountGate {
  /**
   * Resolves when a request may be sent. Waits at most about two seconds; a longer wait is thrown as Failure `throttled`
   * (wait) with its end, so that nothing is held meanwhile. Throws `cancelled` as soon as the signal aborts.
   */
  enter(signal: AbortSignal): Promise<void>
  /** Lets no request of the account through before that instant (ms since the epoch). Never shortens a pause. */
  pauseUntil(atMs: number): Promise<void>
  /** End of the pause that stands, ms since the epoch; undefined without one. */
  readonly throttledUntilMs: number | undefined
}

/** Event → one line of text, without a line break. Pure: the line depends on the event and the configuration only. */
export interface Format {
  readonly name: string
  /** MIME type of lines joined by line breaks. */
  readonly mediaType: string
  /** Throws for an event that has no form in this format; the event becomes a dead letter (`unmappable`). */
  encode(event: Event): string
  /** Reads a line that this format wrote back to the identity of its event; undefined for any other text. */
  identify(line: string): Identity | undefined
  /** Reads such a line back to what its event can be made of again. Absent where lines do not keep enough for that. */
  readBack?(line: string): KeptEvent | undefined
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
  readonly removedLetters?: readonly Identity[]
  readonly gaps: readonly Gap[]
}

/**
 * Durable progress. Every method may throw Failure `store_unavailable` (retry) or `store_refuses` (stop). Checkpoints and
 * backfills of a list are shared between its callers, and frozen; all other values are the caller's own.
 */
export interface CheckpointStore {
  /** Random id that was made with the store; another id means another store. */
  readonly id: string

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
   * Writes everything of the commit, or nothing. `done` also when this very commit was written before (a repeated call
   * after a lost answer); `refused` unless fence and `basedOn` are what the store holds. Throws `dead_letters_full`
   * (stop) when the dead letters would pass their limit; then nothing is written.
   */
  commit(commit: Commit): Promise<'done' | 'refused'>

  read(stream: Stream): Promise<Checkpoint | undefined>
  /** All checkpoints, ended ones included. Asked for each second: what has not changed since is not read again. */
  list(): Promise<Checkpoint[]>

  /** Packed fingerprints of the given minutes; a minute without any is missing from the map. */
  loadSeen(stream: Stream, minutes: readonly number[]): Promise<Map<number, Uint8Array>>
  /** The ledger: count and order-free hash of every minute, also after the fingerprints are gone. */
  ledger(stream: Stream): Promise<MinuteCount[]>
  /** Replaces the fingerprints of an ended stream by its counts and hashes. */
  forgetFingerprints(stream: Stream): Promise<void>

  pairs(): Promise<KnownPair[]>
  /** Remembers pairs as planned now; the first day of a known pair stays. */
  rememberPairs(pairs: readonly KnownPair[]): Promise<void>

  gaps(): Promise<Gap[]>
  /** Adds gaps that belong to no pump (days missed while nothing ran). One that stands already is not added twice. */
  addGaps(gaps: readonly Gap[]): Promise<void>

  deadLetters(sink?: string): Promise<DeadLetter[]>
  /** How many there are, by stream and reason. */
  deadLetterStreams(): Promise<DeadLetterCount[]>
  /** Whose dead letters a stream has, in no order. */
  deadLetterKeys(stream: Stream): Promise<Identity[]>
  /** Those of a stream's dead letters that are still there, in the order of the keys; at most 500 are asked for. */
  deadLettersOf(stream: Stream, keys: readonly Identity[]): Promise<DeadLetter[]>
  removeDeadLetters(
    letters: readonly Pick<DeadLetter, 'zone' | 'day' | 'sink' | 'id' | 'time'>[],
  ): Promise<number>

  /** Remembers a new backfill. */
  addBackfill(backfill: Backfill): Promise<void>
  /**
   * All that are remembered, the oldest first. `state` is `done` once none of its streams is queued. Asked for each
   * second: what has not changed since is not read again.
   */
  backfills(): Promise<Backfill[]>
  /** Pauses, resumes or cancels one. False when there is none of that id, or it is done or cancelled already. */
  setBackfillState(id: string, state: 'running' | 'paused' | 'cancelled'): Promise<boolean>
  /** Settles one stream of a backfill; a stream that is settled already stays as it is. */
  settleBackfilled(id: string, settled: Backfilled): Promise<void>

  /** Moves checkpoints, gaps and dead letters to another sink name. Throws Failure when the new name is taken. */
  renameSink(from: string, to: string): Promise<number>
  /** Drops checkpoints that ended before `checkpointsBefore`; gaps and ended backfills made before `gapsBefore`. */
  prune(checkpointsBefore: number, gapsBefore: number): Promise<void>
  close(): Promise<void>
}

/** Guards the schedule of an embedded store: one `run` per store. Dies with its process. */
export interface ScheduleLock {
  /** False when another live process has it; `holder` then names that process. */
  acquire(): Promise<{ ok: true } | { ok: false; holder: string }>
  /** Who holds it now, for `status` and for commands that ask whether a `run` is there. */
  holder(): Promise<string | undefined>
  release(): Promise<void>
}

/** Makes pumps start when streams are due, and stops them. */
export interface Schedule {
  start(): Promise<void>
  /** Aborts what runs and resolves when nothing runs any more. Safe twice and before `start`. */
  stop(): Promise<void>
}

/** Takes what happened and makes the log line and the metric of it. Never throws. */
export interface Telemetry {
  emit(happening: Happening): void
}

/** Makes spans, where somebody records them. Never throws of its own. */
export interface Tracer {
  /**
   * Runs the work inside a span, as a part of whichever span the caller runs in; a thrown Failure becomes its outcome.
   * `note` adds what is known only later.
   */
  span<Result>(
    name: SpanName,
    facts: SpanFacts,
    work: (note: (facts: SpanFacts) => void) => Promise<Result>,
  ): Promise<Result>
}
