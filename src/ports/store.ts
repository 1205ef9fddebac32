import type { Backfills } from './backfills.ts'
import type { Catalogue } from './catalogue.ts'
import type { DeadLetters } from './dead-letters.ts'
import type { Ledger } from './ledger.ts'
import type { Upkeep } from './upkeep.ts'

/**
 * Durable progress, in five parts. Every method may throw Failure `store_unavailable` (retry) or `store_refuses`
 * (stop). Listed checkpoints and backfills are frozen, since callers share them; all other values belong to the caller.
 */
export interface Store {
  /** Random id that was made with the store; another id means another store. */
  readonly id: string
  readonly ledger: Ledger
  readonly catalogue: Catalogue
  readonly deadLetters: DeadLetters
  readonly backfills: Backfills
  readonly upkeep: Upkeep
  close(): Promise<void>
}
