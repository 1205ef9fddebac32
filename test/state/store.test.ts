import { describe } from 'vitest'
import { checkpointStoreContract } from '../contract/checkpoint-store.contract.ts'
import { redisAvailable, useRedis } from '../setup/redis.ts'
import { inMemory, inSqlite } from './ledger/opened.ts'
import { contractStore, stateAt } from './redis/opening.ts'

checkpointStoreContract('memory', inMemory, 100)
checkpointStoreContract('sqlite', inSqlite, 25)

describe.skipIf(!redisAvailable())('on one server', async () => {
  if (!redisAvailable()) return
  const { url, keyPrefix } = await useRedis()
  checkpointStoreContract('redis', contractStore(stateAt(url, { keyPrefix })), 25)
})
