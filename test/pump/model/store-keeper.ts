import { DatabaseSync } from 'node:sqlite'
import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import type { Clock } from '../../../src/ports/process.ts'
import { openMemoryStore } from '../../setup/stores.ts'

export type StoreKeeper = Awaited<ReturnType<typeof keepStore>>

/** The store of a run. It can be set back to an older copy of itself, while it is open. */
export async function keepStore(clock: Clock) {
  const handle = new DatabaseSync(':memory:')
  const pruned = new Map<string, Checkpoint>()
  const store = await openMemoryStore({ clock, deadLetterMaxBytes: 1e6, handle })
  handle.exec(`ATTACH ':memory:' AS older`)
  let prunedBefore: ReadonlyMap<string, Checkpoint> | undefined
  return {
    store,
    /** The latest checkpoints of streams that it pruned. A store that is set back does not know what it pruned since. */
    pruned,
    /** Makes the copy that a later `setBack` goes back to. */
    copy(): void {
      for (const table of tables)
        handle.exec(
          `DROP TABLE IF EXISTS older.${table}; CREATE TABLE older.${table} AS SELECT * FROM main.${table}`,
        )
      prunedBefore = new Map(pruned)
    },
    /** False where there is no copy. */
    setBack(): boolean {
      if (prunedBefore === undefined) return false
      for (const table of tables)
        handle.exec(`DELETE FROM main.${table}; INSERT INTO main.${table} SELECT * FROM older.${table}`)
      pruned.clear()
      for (const [key, checkpoint] of prunedBefore) pruned.set(key, checkpoint)
      return true
    },
  }
}

const tables = ['collection', 'record']
