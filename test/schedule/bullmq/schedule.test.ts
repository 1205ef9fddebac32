import { randomUUID } from 'node:crypto'
import { beforeAll, describe } from 'vitest'
import { createBullmqSchedule } from '../../../src/schedule/bullmq/schedule.ts'
import { scheduleContract } from '../../contract/schedule.contract.ts'
import { redisAvailable, useRedis, type TestRedis } from '../../setup/redis.ts'
import { stateAt } from '../../state/redis/settings.ts'

describe.skipIf(!redisAvailable())('with a Redis', () => {
  let redis: TestRedis
  beforeAll(async () => void (redis = await useRedis()))

  scheduleContract('jobs in Redis', async ({ live, backfill }, of) => {
    const connection = stateAt(redis.url, { keyPrefix: `${redis.keyPrefix}-${randomUUID()}` })
    const places = { sinks: of.sinks, streams: live, backfillStreams: backfill }
    return createBullmqSchedule({ connection, role: 'all', tickMs: 250, ...places }, of.deps())
  })
})
