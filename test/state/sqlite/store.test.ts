import { join } from 'node:path'
import { openSqliteStore } from '../../setup/stores.ts'
import type { Store } from '../../../src/ports/store.ts'
import { checkpointStoreContract, checkpointStoreProperty } from '../../contract/checkpoint-store.contract.ts'
import { contractDeadLetterMaxBytes, type OpenedStore } from '../../contract/checkpoint-store/opened-store.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { temporaryFolder } from '../../setup/temp.ts'

async function openInFile(): Promise<OpenedStore> {
  const path = join(temporaryFolder(), 'store.db')
  const clock = createFakeClock()
  const opened: Store[] = []
  const reopen = async (deadLetterMaxBytes = contractDeadLetterMaxBytes): Promise<Store> => {
    const store = await openSqliteStore({ path, clock, deadLetterMaxBytes })
    opened.push(store)
    return store
  }
  const close = async (): Promise<void> => {
    for (const store of opened) await store.close()
  }
  return { store: await reopen(), reopen, clock, close }
}

checkpointStoreContract('sqlite', openInFile)
checkpointStoreProperty('sqlite', openInFile, 25)
