import type { Clock } from '../../../src/ports/process.ts'
import type { Store } from '../../../src/ports/store.ts'
import type { MemoryState } from '../../../src/state/memory/records.ts'
import { openMemoryStore } from '../../setup/stores.ts'

/** The store of a run. It can be set back to an older copy of itself, while it is open. */
export interface StoreKeeper {
  readonly store: Store
  /** Makes the copy that a later `setBack` goes back to. */
  copy(): void
  setBack(): void
}

export async function keepStore(clock: Clock): Promise<StoreKeeper> {
  const state: MemoryState = new Map()
  let older: MemoryState | undefined
  return {
    store: await openMemoryStore({ clock, deadLetterMaxBytes: 1e6, state }),
    copy: () => void (older = copyOf(state)),
    setBack() {
      if (older === undefined) return
      state.clear()
      for (const [name, collection] of copyOf(older)) state.set(name, collection)
    },
  }
}

/** No value in it changes: a record gets another one. */
function copyOf(state: MemoryState): MemoryState {
  return new Map(
    [...state].map(([name, { records, latest }]) => [name, { records: new Map(records), latest }]),
  )
}
