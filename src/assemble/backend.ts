import type { Config } from '../config/schema/schema.ts'
import type { Failure } from '../domain/failure.ts'
import type { PlannedStream } from '../domain/plan/plan.ts'
import type { StateSnapshot } from '../domain/plan/snapshot.ts'
import type { WorkerStatus } from '../domain/plan/status.ts'
import type { Priority, Stream } from '../domain/stream.ts'
import type { AccountGate } from '../ports/account-gate.ts'
import type { Holder } from '../ports/ledger.ts'
import type { Schedule } from '../ports/schedule.ts'
import type { Store } from '../ports/store.ts'
import type { SinkReconciler } from '../maintenance/housekeeping/reconcile-sinks.ts'
import type { TickTracing } from '../telemetry/tracing.ts'

export type Role = 'all' | 'scheduler' | 'worker'

/** What `state` decides: where checkpoints are, who starts pumps, and what processes share. */
export interface Backend {
  readonly store: Store
  readonly holder: Holder
  /** The roles that tell the gauges of shared state; those of other processes would only repeat them. */
  readonly tellsState: boolean
  /** Waits for the right to schedule, where only one process may. Throws Failure `held`. */
  acquire(signal: AbortSignal): Promise<void>
  /** Who ships on this store now. */
  workers(): Promise<WorkerStatus[]>
  /** The request budget of an account, where processes share it; undefined where each process has its own. */
  gateOf(account: string, config: Config): AccountGate | undefined
  createSchedule(deps: ScheduleDeps): BackendSchedule
  /** Why the store takes no writes, by the latest heartbeat; undefined where it does. */
  storeTrouble(): string | undefined
  close(): Promise<void>
}

export interface BackendSchedule extends Schedule {
  /** Jobs that wait and that are worked on, by priority, where the schedule itself counts them. */
  queues?(): Promise<StateSnapshot['queues']>
}

/** What any schedule needs of an engine. */
export interface ScheduleDeps {
  readonly config: Config
  /** Names what is planned for the store, settles what is done, and returns all planned streams. */
  readonly plan: () => Promise<PlannedStream[]>
  readonly planned: (stream: Stream, priority: Priority) => Promise<PlannedStream | undefined>
  readonly pump: (planned: PlannedStream, signal: AbortSignal) => Promise<Failure | undefined>
  /** Writes down a failure of a stream that no pump lived to write down. Throws Failure. */
  readonly fail: (planned: PlannedStream, failure: Failure) => Promise<void>
  /** The gate of an account: the schedule tells it which live streams are to begin. */
  readonly gateOf: (account: string) => AccountGate
  /** False where it is too early for it. */
  readonly housekeep: (signal: AbortSignal) => Promise<boolean>
  /** Takes back what stands in the sinks beyond the last commit; for processes that pump. */
  readonly reconciler: SinkReconciler
  /** Called at each turn of a loop that must keep turning. */
  readonly turned: (loop: string) => void
  readonly now: (planned: PlannedStream) => number
  readonly ticks: TickTracing
}
