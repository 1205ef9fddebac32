import { describe } from 'vitest'
import { checkpointStoreContract, checkpointStoreProperty } from '../../contract/checkpoint-store.contract.ts'
import { redisAvailable, useRedis } from '../../setup/redis.ts'
import { contractStore, stateAt } from './opening.ts'

describe.skipIf(!redisAvailable())('on one server', async () => {
  if (!redisAvailable()) return
  const { url, keyPrefix } = await useRedis()
  const open = contractStore(stateAt(url, { keyPrefix }))
  checkpointStoreContract('redis', open)
  checkpointStoreProperty('redis', open, 60)
})
