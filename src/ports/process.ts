import type { Observation } from '../domain/observation.ts'
import type { Priority, Stream } from '../domain/stream.ts'
import type { InternalEvent } from '../domain/internal-event.ts'
import type { FailureCode } from '../domain/failure.ts'

/** All code that reads time or waits takes a Clock, so that tests can shift time or run it faster. */
export interface Clock {
  /** ms since the epoch, by this host's wall clock, which may step. */
  now(): number
  /**
   * ms since the epoch, by the wall clock as it was at the start and what has passed since, while the host slept too. No
   * step of the wall clock moves it, and it never goes back.
   */
  steady(): number
  /** ms of a monotonic clock, for durations. It may stand still while the host sleeps. */
  monotonic(): number
  /** Resolves after `ms`; rejects with a `cancelled` Failure as soon as the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** The part of the work of a fleet that a process does: `scheduler` plans, `worker` pumps. */
export type Role = 'all' | 'scheduler' | 'worker'

/** Guards the schedule of an embedded store: one `run` per store. The end of its process releases it. */
export interface ScheduleLock {
  /** Names the other live process that has it; undefined where this one has it now. */
  acquire(): Promise<string | undefined>
  /** Who holds it now, for `status` and for commands that need to know whether a `run` is active. */
  holder(): Promise<string | undefined>
  release(): Promise<void>
}

/** Starts pumps when streams are due, until it is stopped. */
export interface Schedule {
  /** Aborts what runs and resolves when all of it has ended. May be called twice. */
  stop(): Promise<void>
  /** Waiting and active jobs by priority, where the schedule itself counts them. */
  queues?(): Promise<Observation['queues']>
}

/**
 * What all requests of one account share: a rate and pauses that the API asked for, with other processes too, and in
 * this process the order: live before backfill. A backfill's request passes when no live request of the account waits
 * and no live stream is being read; while one is, at most every fourth request is a backfill's.
 */
export interface AccountGate {
  /**
   * Resolves when a request may be sent. Waits at most about two seconds; instead of a longer wait, which would hold
   * the stream, throws Failure `throttled` (wait) with its end, or `gave_way` (cancelled) for a backfill that waits for
   * live streams. Throws `cancelled` as soon as the signal aborts. `waitsOut` false: throws `throttled` at once where the
   * account is paused, however shortly.
   */
  enter(signal: AbortSignal, priority: Priority, waitsOut?: boolean): Promise<void>
  /** A live stream of the account is read until the disposal. One that sends no request for 5 s delays no backfill. */
  liveBegins(): Disposable
  /** Lets no request of the account through before that instant (ms since the epoch). Never shortens a pause. */
  pauseUntil(atMs: number): Promise<void>
  /**
   * End of the current pause, ms since the epoch, as the processes know it that share the account; undefined without one.
   * Never throws.
   */
  pausedUntil(): Promise<number | undefined>
}

/**
 * With ms. `pass`: the place is taken, send then. `later`: ask again then. `full`: a place may be free then. `paused`:
 * the rest of the account's pause.
 */
export type Place = readonly ['pass' | 'later' | 'full' | 'paused', number]

export interface PlaceAsked {
  readonly longestWaitMs: number
  /** False for a request that takes a place only if one is free now. */
  readonly mayWait: boolean
}

/** The limits of an account that processes share. Nothing throws; undefined while the others cannot be asked. */
export interface SharedLimits {
  /** Takes the next place in the rate. */
  take(asked: PlaceAsked): Promise<Place | undefined>
  /** Pauses the account; never shortens a pause. */
  pause(ms: number): Promise<void>
  /** Rest of the pause in ms, 0 without one. */
  pausedMs(): Promise<number | undefined>
}

/** Turns internal events into log lines and metrics. Never throws. */
export interface Telemetry {
  emit(internalEvent: InternalEvent): void
}

/** Makes spans, where tracing is on. Throws only what the work throws. */
export interface Tracer {
  /**
   * Runs the work inside a span, a child of the span that the caller runs in; a thrown Failure becomes its outcome.
   * `note` adds facts that are known only later.
   */
  span<Result>(
    name: SpanName,
    facts: SpanFacts,
    work: (note: (facts: SpanFacts) => void) => Promise<Result>,
  ): Promise<Result>
}

/** Names of trace headers and their values. */
export type TraceCarrier = Readonly<Record<string, string>>

/** Connects the work that a tick starts to the span of that tick, in this process or through a queue in another one. */
export interface TickTracing {
  /** Runs the plan of a tick. The span starts with it, but exists only if the tick starts some work. */
  tick<Result>(plan: () => Promise<Result>): Promise<Result>
  /** Runs work that the latest tick started as a part of its trace. */
  started<Result>(work: () => Promise<Result>): Promise<Result>
  /** Headers that carry the latest tick's trace to another process; empty without an SDK. Never throws. */
  inject(): TraceCarrier
  /** Runs the work as a part of the trace in the headers. */
  within<Result>(carrier: TraceCarrier, work: () => Promise<Result>): Promise<Result>
}

export type SpanName = 'pump' | 'fetch' | 'deliver' | 'commit'

/** All that a span may hold. Spans go to another party: no cursor, event id, path or client address. */
export interface SpanFacts extends Partial<Stream> {
  readonly priority?: Priority
  /** URL that the step requests or delivers to; the span holds its host and port, never its path. */
  readonly server?: string
  /** Absent for a page that is fetched ahead: it is parsed when it is taken. */
  readonly events?: number
  /** The failure that the work ended with without throwing it. */
  readonly outcome?: FailureCode
}
