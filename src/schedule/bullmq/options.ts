import type { Failure } from '../../domain/failure.ts'
import type { PlannedStream } from '../../domain/plan/plan.ts'
import type { Priority, Stream } from '../../domain/stream.ts'
import type { RedisServers } from '../../redis/connection.ts'
import type { TraceCarrier } from '../../ports/process.ts'
import type { ScheduleDeps } from '../schedule-deps.ts'

export interface BullmqScheduleOptions {
  readonly connection: RedisServers
  readonly keyPrefix: string
  readonly role: 'all' | 'scheduler' | 'worker'
  /** All sinks of the configuration; each has its own queues. */
  readonly sinks: readonly string[]
  /** How many streams of each priority this process pumps at once; sinks share them evenly. */
  readonly streams: number
  readonly backfillStreams: number
  readonly tickMs: number
  /** After this time without a renewal another worker takes the job; stalls are looked for as often. Default 15 s. */
  readonly lockMs?: number
}

/** Carries a trace over the queue. Neither may throw. */
export interface Tracing {
  /** The headers that the current trace would send with a request; empty without one. */
  readonly inject: () => TraceCarrier
  /** Runs the work as a part of the trace that sent these headers. */
  readonly within: <T>(carrier: TraceCarrier, work: () => Promise<T>) => Promise<T>
}

/** The roles `scheduler` and `all` call `plan` and `housekeep`, the roles `worker` and `all` call `pump`. */
export interface BullmqScheduleDeps extends ScheduleDeps {
  /** One stream by the present state of the store; undefined where this configuration does not plan it. */
  readonly planned: (stream: Stream, priority: Priority) => Promise<PlannedStream | undefined>
  /** Commits a failure for a pump whose process died, so that the stream backs off. Throws Failure. */
  readonly fail: (planned: PlannedStream, failure: Failure) => Promise<void>
  /** Sinks that the store knows and the configuration does not name: no worker takes their jobs any more. */
  readonly removedSinks: () => Promise<readonly string[]>
  /** Removes what sinks hold beyond the last commit; called every few seconds in the roles that pump. */
  readonly reconcile: (signal: AbortSignal) => Promise<void>
  /** Called while ticks and streams are taken from their queues, and while Redis is away. For `/healthz`. */
  readonly turned: (loop: 'tick' | 'worker') => void
  readonly tracing?: Tracing
}
