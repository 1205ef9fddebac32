import { randomUUID } from 'node:crypto'
import { beforeAll, describe } from 'vitest'
import { BullmqSchedule } from '../../../src/schedule/bullmq/schedule.ts'
import { scheduleContract } from '../../contract/schedule.contract.ts'
import { redisAvailable, useRedis, type TestRedis } from '../../setup/redis.ts'
import { serversAt } from '../../redis/servers.ts'

describe.skipIf(!redisAvailable())('with a Redis', () => {
  let redis: TestRedis
  beforeAll(async () => void (redis = await useRedis()))

  scheduleContract('jobs in Redis', async (parts) => {
    const { url } = redis
    const keyPrefix = `${redis.keyPrefix}-${randomUUID()}`
    const { sinks, streams, backfillStreams } = parts
    return new BullmqSchedule(
      { connection: serversAt(url), keyPrefix, role: 'all', sinks, streams, backfillStreams, tickMs: 250 },
      {
        ...parts,
        reconcile: async () => undefined,
        fail: async () => undefined,
      },
    )
  })
})
