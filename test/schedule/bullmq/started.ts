import { systemClock } from '../../../src/clock.ts'
import { startBullmqSchedule, type BullmqScheduleOptions } from '../../../src/schedule/bullmq/schedule.ts'
import type { ScheduleDeps } from '../../../src/schedule/pumping.ts'
import { World } from '../../contract/schedule/world.ts'
import { stateAt } from '../../state/redis/settings.ts'
import { own } from '../../setup/leftovers.ts'
import type { TestRedis } from '../../setup/redis.ts'

/** A schedule over a world with streams of these zones, which are due. Stopped after the test. */
export function scheduleAt(
  { url, keyPrefix }: TestRedis,
  { zones = [1, 2], ...options }: Partial<BullmqScheduleOptions> & { zones?: readonly number[] } = {},
  deps: Partial<ScheduleDeps> = {},
) {
  const world = new World(systemClock)
  world.add('live', zones)
  const usual = { role: 'all', sinks: ['archive'], tickMs: 200 } as const
  const schedule = startBullmqSchedule(
    { connection: stateAt(url, { keyPrefix }), ...usual, ...options },
    { ...world.deps(), places: { live: 1, backfill: 1 }, ...deps },
  )
  own({ what: 'schedule', isLeft: () => true, remove: () => schedule.stop(), isFault: false })
  return { schedule, world }
}
