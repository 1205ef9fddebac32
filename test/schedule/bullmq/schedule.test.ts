import { describe } from 'vitest'
import { createBullmqSchedule } from '../../../src/schedule/bullmq/schedule.ts'
import { scheduleContract } from '../../contract/schedule.contract.ts'
import { redisAvailable, useRedis } from '../../setup/redis.ts'
import { serversAt } from '../../redis/servers.ts'

describe.skipIf(!redisAvailable())('with a Redis', () => {
  scheduleContract('jobs in Redis', async (parts) => {
    const { url, keyPrefix } = await useRedis()
    const { streams, backfillStreams } = parts
    return createBullmqSchedule(
      { connection: serversAt(url), keyPrefix, role: 'all', streams, backfillStreams, tickMs: 500 },
      { ...parts, settle: async () => undefined },
    )
  })
})
