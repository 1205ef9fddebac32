import { createMemoryRecords, type MemoryState } from '../../../src/state/memory/records.ts'
import { recordsContract } from '../../contract/records.contract.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'

recordsContract('memory', async () => {
  const clock = createFakeClock()
  const state: MemoryState = new Map()
  const records = createMemoryRecords(clock, state)
  return {
    records,
    reopen: async () => createMemoryRecords(clock, state),
    clock,
    async backUp() {
      const copy = structuredClone(state)
      return async () => {
        state.clear()
        for (const [name, collection] of copy) state.set(name, collection)
      }
    },
    close: () => records.close(),
  }
})
