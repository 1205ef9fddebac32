import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import {
  createProcessRecord,
  livingProcesses,
  oldestScheduler,
  type ProcessRecord,
  type Role,
  type SharedClocks,
} from '../../src/redis/process-record.ts'
import { redisAvailable, useRedis, type TestRedis } from '../setup/redis.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'
import { connected } from './connected.ts'

const silent: SharedClocks = { told: () => new Map(), learn: () => undefined }

function recordAt({ url, keyPrefix }: TestRedis, role: Role, id: string = role): ProcessRecord {
  return createProcessRecord({ keyPrefix, role, id }, { client: connected(url), clock: systemClock })
}

describe.skipIf(!redisAvailable())('the record of a process', () => {
  it('lists live processes, and is removed with its process', async () => {
    const redis = await useRedis()
    const client = connected(redis.url)
    const living = () => livingProcesses(redis.keyPrefix, { client, clock: systemClock })
    expect(await living()).toEqual([])
    const scheduler = recordAt(redis, 'scheduler')
    await scheduler.tell(silent)
    await recordAt(redis, 'worker').tell(silent)
    const both = await living()
    expect(both.map(({ role }) => role).toSorted()).toEqual(['scheduler', 'worker'])
    expect(both[0]?.name).toMatch(
      new RegExp(`^process ${process.pid} on \\S+ since \\d{4}-.*Z, seen \\d+ s ago$`),
    )
    await scheduler.remove()
    expect((await living()).map(({ role }) => role)).toEqual(['worker'])
  })

  it('identifies the process that has scheduled for the longest time, which does the work for one process', async () => {
    const redis = await useRedis()
    const client = connected(redis.url)
    const clock = createFakeClock()
    const oldest = () => oldestScheduler(redis.keyPrefix, { client, clock: systemClock })
    const record = async (role: Role, id: string) => {
      const { keyPrefix } = redis
      const made = createProcessRecord({ keyPrefix, role, id }, { client: connected(redis.url), clock })
      await made.tell(silent)
      await clock.advance(1_000)
      return made
    }
    expect(await oldest()).toBeUndefined()
    await record('worker', 'a')
    const first = await record('scheduler', 'c')
    await record('all', 'b')
    expect(await oldest()).toBe('c')
    await first.remove()
    expect(await oldest()).toBe('b')
  })

  it('expires after 20 s without a heartbeat', async () => {
    const redis = await useRedis()
    const client = connected(redis.url)
    await recordAt(redis, 'worker', 'one').tell(silent)
    await recordAt(redis, 'worker', 'two').tell(silent)
    await client.hset(`{${redis.keyPrefix}}:holders`, 'one', Date.now() - 25_000)
    expect(await livingProcesses(redis.keyPrefix, { client, clock: systemClock })).toHaveLength(1)
  })

  it('gives a scheduler the time of the API that the workers know', async () => {
    const redis = await useRedis()
    const learnt = new Map<string, number>()
    const learn = (account: string, ms: number) => void learnt.set(account, ms)
    const aheadMs = 3_600_000
    const told = () => new Map([['main', Date.now() + aheadMs]])
    await recordAt(redis, 'worker').tell({ told, learn })
    expect(learnt.size).toBe(0)
    await recordAt(redis, 'scheduler').tell({ told: silent.told, learn })
    expect(Math.abs((learnt.get('main') ?? 0) - aheadMs)).toBeLessThan(1_000)
  })
})
