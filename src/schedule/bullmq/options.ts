import type { PlannedStream } from '../../domain/plan.ts'
import type { Telemetry } from '../../ports/telemetry.ts'
import type { RedisServers } from '../../redis/connection.ts'
import type { Role, SharedClocks } from './presence.ts'
import type { PumpJobsDeps } from './pump-jobs.ts'

export interface BullmqScheduleOptions {
  readonly connection: RedisServers
  readonly keyPrefix: string
  readonly role: Role
  /** Streams pumped at once by this process, in each lane. */
  readonly streams: number
  readonly backfillStreams: number
  readonly tickMs: number
  /** How long a worker may be silent before its work is another's; stalls are looked for as often. Default 15 s. */
  readonly lockMs?: number
}

export interface BullmqScheduleDeps extends Pick<
  PumpJobsDeps,
  'clock' | 'planned' | 'pump' | 'now' | 'tracing'
> {
  readonly telemetry: Telemetry
  /** How many sinks this configuration has: none of them may take all places. */
  readonly sinks: number
  /** All planned streams, the most urgent first. Called by the roles `scheduler` and `all`. */
  readonly plan: () => Promise<PlannedStream[]>
  /** Tells the store that this process lives. */
  readonly heartbeat: () => Promise<void>
  /** Work that is due now and then; called every ten minutes by the roles `scheduler` and `all`. */
  readonly housekeep: (signal: AbortSignal) => Promise<void>
  /** Takes back what stands in the sinks beyond the last commit; called every few seconds by the roles that pump. */
  readonly settle: (signal: AbortSignal) => Promise<void>
  /** Called at each turn of the tick loop and of the worker loop, while Redis is away too. For `/healthz`. */
  readonly turned: (loop: 'tick' | 'worker') => void
  /** What the workers know of the API's clock; without it a process that only schedules goes by its host's. */
  readonly clocks?: SharedClocks
}
