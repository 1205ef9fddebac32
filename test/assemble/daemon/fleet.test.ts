import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { createHeartbeat } from '../../../src/assemble/daemon/fleet.ts'
import type { Role } from '../../../src/assemble/daemon/backend.ts'
import { createApiClock } from '../../../src/pump/api-clock.ts'
import { openMemoryStore } from '../../setup/stores.ts'

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
