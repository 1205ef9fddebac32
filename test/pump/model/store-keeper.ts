import { DatabaseSync } from 'node:sqlite'
import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import type { Clock } from '../../../src/ports/process.ts'
import type { Store } from '../../../src/ports/store.ts'
import { openMemoryStore } from '../../setup/stores.ts'

/** The store of a run. It can be set back to an older copy of itself, while it is open. */
export interface StoreKeeper {
  readonly store: Store
  /** The latest checkpoints of streams that it pruned. A store that is set back does not know what it pruned since. */
  readonly pruned: Map<string, Checkpoint>
  /** Makes the copy that a later `setBack` goes back to. */
  copy(): void
  setBack(): void
}

export async function keepStore(clock: Clock): Promise<StoreKeeper> {
  const handle = new DatabaseSync(':memory:')
  const pruned = new Map<string, Checkpoint>()
  const store = await openMemoryStore({ clock, deadLetterMaxBytes: 1e6, handle })
  handle.exec(`ATTACH ':memory:' AS older`)
  let prunedBefore: ReadonlyMap<string, Checkpoint> | undefined
  return {
    pruned,
    store,
    copy() {
      for (const table of tables)
        handle.exec(
          `DROP TABLE IF EXISTS older.${table}; CREATE TABLE older.${table} AS SELECT * FROM main.${table}`,
        )
      prunedBefore = new Map(pruned)
    },
    setBack() {
      if (prunedBefore === undefined) return
      for (const table of tables)
        handle.exec(`DELETE FROM main.${table}; INSERT INTO main.${table} SELECT * FROM older.${table}`)
      pruned.clear()
      for (const [key, checkpoint] of prunedBefore) pruned.set(key, checkpoint)
    },
  }
}

const tables = ['collection', 'record']
