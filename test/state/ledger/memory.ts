import { storesAt } from '../../contract/checkpoint-store/opened-store.ts'
import type { MemoryState } from '../../../src/state/memory/records.ts'
import { openMemoryStore } from '../../setup/stores.ts'

/** A store in memory, and the same one again; two dead letters of 4 kB fit. */
export const openMemory = storesAt(
  (): MemoryState => new Map(),
  (state, options) => openMemoryStore({ state, ...options }),
)
