import { randomUUID } from 'node:crypto'
import { beforeAll, describe } from 'vitest'
import { startBullmqSchedule } from '../../../src/schedule/bullmq/schedule.ts'
import { scheduleContract } from '../../contract/schedule.contract.ts'
import { redisAvailable, useRedis, type TestRedis } from '../../setup/redis.ts'
import { stateAt } from '../../state/redis/settings.ts'

describe.skipIf(!redisAvailable())('with a Redis', () => {
  let redis: TestRedis
  beforeAll(async () => void (redis = await useRedis()))

  scheduleContract('jobs in Redis', (of) => {
    const connection = stateAt(redis.url, { keyPrefix: `${redis.keyPrefix}-${randomUUID()}` })
    return startBullmqSchedule({ connection, role: 'all', tickMs: 250, sinks: of.sinks }, of.deps())
  })
})
