import type { Failure } from '../domain/failure.ts'
import type { PlannedStream } from '../domain/plan/plan.ts'
import type { Clock, Telemetry } from '../ports/process.ts'

/** Dependencies of every kind of schedule. */
export interface ScheduleDeps {
  readonly clock: Clock
  readonly telemetry: Telemetry
  /** All planned streams, the most urgent first. */
  readonly plan: () => Promise<readonly PlannedStream[]>
  readonly pump: (planned: PlannedStream, signal: AbortSignal) => Promise<Failure | undefined>
  readonly now: (planned: PlannedStream) => number
  /** Records that this process is alive; called every 5 s. */
  readonly heartbeat: () => Promise<void>
  /** Periodic work; called every ten minutes, and soon again where it resolves with false. */
  readonly housekeep: (signal: AbortSignal) => Promise<boolean>
}
