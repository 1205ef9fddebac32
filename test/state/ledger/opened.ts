import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { onTestFinished } from 'vitest'
import { storesAt, type OpenedStore } from '../../contract/checkpoint-store/opened-store.ts'
import { useRedis } from '../../setup/redis.ts'
import { openMemoryStore, openSqliteStore } from '../../setup/stores.ts'
import { temporaryFolder } from '../../setup/temp.ts'
import { contractStore, stateAt } from '../redis/opening.ts'

/**
 * For the rules of the ledger, which hold in whatever it keeps its records: opens a store, and the same one again; two
 * dead letters of 4 kB fit. In memory unless SHIELDLOG_TEST_STORE says `sqlite` or `redis`. Call it once in a file.
 */
export async function ledgerStores(): Promise<() => Promise<OpenedStore>> {
  const open = await storesOf(process.env['SHIELDLOG_TEST_STORE'])
  return async () => {
    const opened = await open()
    onTestFinished(opened.close)
    return opened
  }
}

async function storesOf(kind = 'memory'): Promise<() => Promise<OpenedStore>> {
  if (kind === 'redis') {
    const { url, keyPrefix } = await useRedis()
    return contractStore(stateAt(url, { keyPrefix }))
  }
  if (kind === 'sqlite') return inSqlite
  return inMemory
}

export const inMemory = storesAt(
  () => new DatabaseSync(':memory:'),
  (handle, options) => openMemoryStore({ handle, ...options }),
)

export const inSqlite = storesAt(
  () => join(temporaryFolder(), 'store.db'),
  (path, options) => openSqliteStore({ path, ...options }),
)
