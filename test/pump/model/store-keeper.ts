import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import type { Clock } from '../../../src/ports/process.ts'
import type { Store } from '../../../src/ports/store.ts'
import type { MemoryState } from '../../../src/state/memory/records.ts'
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
  const state: MemoryState = new Map()
  const pruned = new Map<string, Checkpoint>()
  let older: { readonly state: MemoryState; readonly pruned: ReadonlyMap<string, Checkpoint> } | undefined
  return {
    pruned,
    store: await openMemoryStore({ clock, deadLetterMaxBytes: 1e6, state }),
    copy: () => void (older = { state: copyOf(state), pruned: new Map(pruned) }),
    setBack() {
      if (older === undefined) return
      state.clear()
      for (const [name, collection] of copyOf(older.state)) state.set(name, collection)
      pruned.clear()
      for (const [key, checkpoint] of older.pruned) pruned.set(key, checkpoint)
    },
  }
}

/** No value in it changes: a record gets another one. */
function copyOf(state: MemoryState): MemoryState {
  return new Map(
    [...state].map(([name, { records, latest }]) => [name, { records: new Map(records), latest }]),
  )
}
