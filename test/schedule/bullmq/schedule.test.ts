import { describe } from 'vitest'
import { BullmqSchedule } from '../../../src/schedule/bullmq/schedule.ts'
import { scheduleContract } from '../../contract/schedule.contract.ts'
import { connected } from '../../redis/connected.ts'
import { redisAvailable, useRedis } from '../../setup/redis.ts'
import { serversAt } from '../../redis/servers.ts'
import { sharedGates } from '../../redis/shared-gates.ts'

describe.skipIf(!redisAvailable())('with a Redis', () => {
  scheduleContract('jobs in Redis', async (parts) => {
    const { url, keyPrefix } = await useRedis()
    const { sinks, streams, backfillStreams } = parts
    parts.useGates(sharedGates(connected(url), keyPrefix))
    return new BullmqSchedule(
      { connection: serversAt(url), keyPrefix, role: 'all', sinks, streams, backfillStreams, tickMs: 500 },
      { ...parts, removedSinks: async () => [], settle: async () => undefined, fail: async () => undefined },
    )
  })
})
