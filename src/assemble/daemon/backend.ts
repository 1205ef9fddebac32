import type { Config } from '../../config/schema.ts'
import type { WorkerStatus } from '../../domain/status/status.ts'
import type { SinkReconciler } from '../../maintenance/housekeeping/reconcile-sinks.ts'
import type { SharedLimits, Schedule } from '../../ports/process.ts'
import type { Holder, Store } from '../../ports/store.ts'
import type { ScheduleDeps } from '../../schedule/pumping.ts'

export type Role = 'all' | 'scheduler' | 'worker'

/** The parts that depend on `state`: the store, what starts pumps, and what processes share. */
export interface Backend {
  readonly store: Store
  readonly holder: Holder
  /** True for the roles that schedule: they list zones, and report the gauges of shared state for all processes. */
  readonly schedules: boolean
  /** The processes that ship on this store now. */
  workers(): Promise<WorkerStatus[]>
  /** The limits of an account that processes share; undefined where each process has its own. */
  limitsOf(account: string, config: Config): SharedLimits | undefined
  createSchedule(config: Config, deps: EngineDeps): Schedule
  /** Whether this process, one of those that share the store, reads figures for metrics. Rejects while that is not known. */
  readsFigures(): Promise<boolean>
  /** Why the store refuses writes, by the latest heartbeat; undefined where it accepts them. */
  storeTrouble(): string | undefined
  close(): Promise<void>
}

/** What any schedule needs of an engine. */
interface EngineDeps extends Omit<ScheduleDeps, 'clock' | 'telemetry' | 'heartbeat' | 'reconcile'> {
  /** Reconciles the sinks to the last commit; for processes that pump. */
  readonly reconcile: SinkReconciler
}
