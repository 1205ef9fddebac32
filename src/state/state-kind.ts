import type { Clock } from '../ports/clock.ts'
import type { ScheduleLock } from '../ports/schedule.ts'
import type { Store } from '../ports/store.ts'
import type { Telemetry } from '../ports/telemetry.ts'

export interface OpenStoreOptions {
  readonly clock: Clock
  readonly deadLetterMaxBytes: number
  /** Days for which the API answers. */
  readonly readableDays: number
  /** False refuses a place without a store instead of making one there, with `no_store` where only opening tells. */
  readonly create: boolean
  /** Hears what a server in between has to say. */
  readonly telemetry: Telemetry
}

/** What each kind of store offers, with its settings. */
export interface StateKind {
  /** For people: where the state is kept, without secrets. */
  readonly name: string
  /** False where a look tells that there is no store; one that has to be opened for that says true. */
  exists(): boolean
  /** Throws Failure where a run could not keep its state there. */
  probe(options: OpenStoreOptions): Promise<void>
  /** Throws Failure. */
  open(options: OpenStoreOptions): Promise<Store>
  /** What keeps a second schedule off the store. Absent for one that processes share. */
  lock?(clock: Clock): ScheduleLock
}
