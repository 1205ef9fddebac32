import type { Checkpoint } from '../domain/checkpoint.ts'
import type { Gap } from '../domain/gap.ts'
import type { KnownPair } from '../domain/known-pair.ts'

/** What there is to know of all streams together: for plans, status and metrics. */
export interface Catalogue {
  /** All checkpoints, ended ones included. Asked for each second: what has not changed since is not read again. */
  checkpoints(): Promise<Checkpoint[]>
  routes(): Promise<KnownPair[]>
  /** Remembers pairs as planned now; the first day of a known pair stays. */
  rememberRoutes(pairs: readonly KnownPair[]): Promise<void>
  gaps(): Promise<Gap[]>
  /** Adds gaps that belong to no pump (days missed while nothing ran). One that stands already is not added twice. */
  addGaps(gaps: readonly Gap[]): Promise<void>
}
