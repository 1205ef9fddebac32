import type { Clock, ScheduleLock, Telemetry } from '../ports/process.ts'
import type { Store } from '../ports/store.ts'

export interface OpenStoreOptions {
  readonly clock: Clock
  readonly deadLetterMaxBytes: number
  /** False refuses a place without a store instead of making one; `no_store` where only opening shows that. */
  readonly create: boolean
  /** Gets warnings about a server. */
  readonly telemetry: Telemetry
}

/** What each kind of store offers, with its settings. */
export interface StateKind {
  /** Where the state is kept, for people, without secrets. */
  readonly name: string
  /** False when there certainly is no store; true where only opening can find out. */
  exists(): boolean
  /** Throws Failure when a run could not keep its state there. */
  probe(options: OpenStoreOptions): Promise<void>
  /** Throws Failure. */
  open(options: OpenStoreOptions): Promise<Store>
  /** Prevents a second schedule on the store. Absent for a store that processes share. */
  lock?(clock: Clock): ScheduleLock
}
