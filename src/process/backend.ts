import type { Store, Holder } from '../ports/store.ts'
import type { LimitsOf } from '../assemble/api-reading.ts'
import type { Config } from '../config/schema.ts'
import type { ScheduleDeps } from '../schedule/pumping.ts'
import type { Schedule } from '../ports/process.ts'

/** The parts that depend on `state`: the store, what starts pumps, and what the processes of a fleet share. */
export interface Backend {
  readonly store: Store
  readonly holder: Holder
  readonly limitsOf?: LimitsOf
  /** `reconnected`: called once the store may hold an older state. */
  startSchedule(
    config: Config,
    deps: Omit<ScheduleDeps, 'heartbeat'> & { readonly reconnected: () => void },
  ): Schedule
  /** Whether this process of those that share the store does what one of them does. Rejects while that is not known. */
  leads(): Promise<boolean>
  close(): Promise<void>
}
