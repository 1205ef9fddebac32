import { createMemoryRecords, type MemoryState } from '../../../src/state/memory/records.ts'
import { openLedger } from '../../../src/state/ledger/store.ts'
import type { Store } from '../../../src/ports/store.ts'
import { checkpointStoreContract, checkpointStoreProperty } from '../../contract/checkpoint-store.contract.ts'
import { contractDeadLetterMaxBytes, type OpenedStore } from '../../contract/checkpoint-store/opened-store.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'

async function open(): Promise<OpenedStore> {
  const clock = createFakeClock()
  const state: MemoryState = new Map()
  const opened: Store[] = []
  const reopen = async (deadLetterMaxBytes = contractDeadLetterMaxBytes): Promise<Store> => {
    const store = await openLedger({
      records: createMemoryRecords(clock, state),
      clock,
      deadLetterMaxBytes,
      place: 'memory',
    })
    opened.push(store)
    return store
  }
  const close = async (): Promise<void> => {
    for (const store of opened) await store.close()
  }
  return { store: await reopen(), reopen, clock, close }
}

checkpointStoreContract('memory', open)
checkpointStoreProperty('memory', open, 200)
