import { describe } from 'vitest'
import { checkpointStoreContract } from '../../contract/checkpoint-store.contract.ts'
import { redisAvailable, useRedis } from '../../setup/redis.ts'
import { contractStore, stateAt } from './opening.ts'

describe.skipIf(!redisAvailable())('on one server', async () => {
  if (!redisAvailable()) return
  const { url, keyPrefix } = await useRedis()
  checkpointStoreContract('redis', contractStore(stateAt(url, { keyPrefix })), 60)
})
