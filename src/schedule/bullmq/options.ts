import type { Failure } from '../../domain/failure.ts'
import type { PlannedStream } from '../../domain/plan/plan.ts'
import type { Priority, Stream } from '../../domain/stream.ts'
import type { AccountGate } from '../../ports/account-gate.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Telemetry } from '../../ports/telemetry.ts'
import type { RedisServers } from '../../redis/connection.ts'
import type { TraceCarrier } from './job-data.ts'

export interface BullmqScheduleOptions {
  readonly connection: RedisServers
  readonly keyPrefix: string
  readonly role: 'all' | 'scheduler' | 'worker'
  /** All sinks of the configuration, each with queues of its own. */
  readonly sinks: readonly string[]
  /** Streams pumped at once by this process, of each priority; sinks share them evenly. */
  readonly streams: number
  readonly backfillStreams: number
  readonly tickMs: number
  /** How long a worker may be silent before its work is another's; stalls are looked for as often. Default 15 s. */
  readonly lockMs?: number
}

/** Carries a trace over the queue. Neither may throw. */
export interface Tracing {
  /** What the trace that is under way would send with a request; empty without one. */
  readonly inject: () => TraceCarrier
  /** Runs the work as a part of the trace that sent this. */
  readonly within: <T>(carrier: TraceCarrier, work: () => Promise<T>) => Promise<T>
}

export interface BullmqScheduleDeps {
  readonly clock: Clock
  readonly telemetry: Telemetry
  /** All planned streams, the most urgent first. Called by the roles `scheduler` and `all`. */
  readonly plan: () => Promise<PlannedStream[]>
  /** One stream as it stands in the store now; undefined where this configuration does not plan it. */
  readonly planned: (stream: Stream, priority: Priority) => Promise<PlannedStream | undefined>
  readonly pump: (planned: PlannedStream, signal: AbortSignal) => Promise<Failure | undefined>
  /** Writes a failure of a stream down that no pump lived to write down, so that it backs off. Throws Failure. */
  readonly fail: (planned: PlannedStream, failure: Failure) => Promise<void>
  readonly now: (planned: PlannedStream) => number
  /** The gate of an account, which lets live streams begin before backfills go on. */
  readonly gateOf: (account: string) => AccountGate
  /** Tells that this process lives; called every 5 s. */
  readonly heartbeat: () => Promise<void>
  /**
   * Work that is due now and then; called every ten minutes by the roles `scheduler` and `all`, and soon again where it
   * resolves with false.
   */
  readonly housekeep: (signal: AbortSignal) => Promise<boolean>
  /** Sinks that the store knows and the configuration does not name: nobody takes their jobs any more. */
  readonly removedSinks: () => Promise<readonly string[]>
  /** Takes back what stands in the sinks beyond the last commit; called every few seconds by the roles that pump. */
  readonly settle: (signal: AbortSignal) => Promise<void>
  /** Called while ticks and streams are taken out of their queues, while Redis is away too. For `/healthz`. */
  readonly turned: (loop: 'tick' | 'worker') => void
  readonly tracing?: Tracing
}
