import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { createHeartbeat } from '../../src/process/fleet.ts'
import type { Role } from '../../src/ports/process.ts'
import { createApiClock } from '../../src/pump/api-clock.ts'
import { probeAt } from '../e2e/metrics.ts'
import { redisServerAvailable, startRedis } from '../setup/redis.ts'
import { openMemoryStore } from '../setup/stores.ts'
import { clientOf } from '../state/redis/opening.ts'
import { apiOf, daemonWith } from './daemons.ts'

it('a process that only schedules learns the time of the API from those that read', async () => {
  const clock = systemClock
  const store = await openMemoryStore({ clock, deadLetterMaxBytes: 1 })
  onTestFinished(() => store.close())
  const memberOf = (role: Role) => {
    const apiClock = createApiClock(clock)
    const beat = createHeartbeat(store, { id: role, schedule: false }, role, { clock, apiClock })
    return { apiClock, beat: () => beat(['main']) }
  }
  const [worker, scheduler] = [memberOf('worker'), memberOf('scheduler')]
  for (const connection of [{}, {}]) worker.apiClock.learn('main', 3_600_000, connection)
  for (const each of [worker, scheduler, worker, scheduler]) await each.beat()
  expect(Math.abs(scheduler.apiClock.now('main') - worker.apiClock.now('main'))).toBeLessThan(1_000)
})

it.skipIf(!redisServerAvailable())('is not ready while Redis is full, although it can be read', async () => {
  const { api } = await apiOf({ zones: [101] })
  const { url, keyPrefix } = await startRedis({ args: ['--maxmemory-policy', 'noeviction'] })
  const admin = clientOf(url)
  const settings = { api, state: { redis: { url, keyPrefix } }, server: { port: 0 } }
  const { daemon, told } = daemonWith(settings, { serve: true })
  const { signal } = new AbortController()
  await daemon.open(signal)
  await daemon.start()
  const { address = '' } = told.find((each) => each.name === 'ServerListening') ?? {}
  const ready = async () => {
    const { status, text } = await probeAt(address).get('/readyz')
    return `${status} ${text}`
  }
  await expect.poll(ready, { timeout: 20_000 }).toMatch(/^200 /)
  await admin.config('SET', 'maxmemory', '1')
  await expect
    .poll(ready, { timeout: 20_000 })
    .toMatch(/^503 .*the state cannot be written: .*raise its maxmemory/)
  await admin.config('SET', 'maxmemory', '0')
  await expect.poll(ready, { timeout: 20_000 }).toMatch(/^200 /)
})
