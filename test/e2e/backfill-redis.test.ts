import { describe, expect, test } from 'vitest'
import { dayOf, shiftDay, type Day } from '../../src/domain/day.ts'
import { allDone, backfillsOf, told } from '../commands/backfilling.ts'
import { redisServerAvailable } from '../setup/redis.ts'
import { waitFor } from '../setup/wait-for.ts'
import { fleet, fleetZones, said, stopAll, type Fleet } from './fleet.ts'
import { compareFiles, exactly } from './shipped.ts'

/** The run itself begins with today; the past is for the backfills. */
const poll = { everySeconds: 1, firstRunDays: 1 }

function pagesOf({ place }: Fleet, day: Day): number {
  return place.simulator.requests.filter((request) => request.day === day).length
}

describe.skipIf(!redisServerAvailable())('backfills over Redis', () => {
  test('are paused, resumed and cancelled while workers are active, and continue after these end', async () => {
    const today = dayOf(Date.now())
    const counts = { [shiftDay(today, -1)]: 4_000, [shiftDay(today, -2)]: 4_000 }
    const simulator = { days: counts, pageSize: 20, latencyMs: 40 }
    const all = await fleet({ simulator, settings: { poll } })
    const { place, days } = all
    // Yesterday is polled until an hour after its end, once it was read.
    const [past, yesterday] = days
    all.start('scheduler', 'scheduler')
    const stopped = all.start('worker', 'stopped')
    await stopped.waitForLine(/"event":"Started"/)
    const { code, stdout, stderr } = await told(place, 'backfill', '--from', past, '--to', past)
    expect([code, stderr]).toEqual([0, expect.stringContaining(' works on it')])
    const id = stdout.trim()
    await waitFor(() => pagesOf(all, past) > 30, {
      what: () => `pages${said(all)}`,
    })

    expect((await told(place, 'backfill', 'pause', id)).code).toBe(0)
    // Not at the end of a slice, in whose ten seconds all is read: what was under way ends, and nothing more is asked for.
    const paused = pagesOf(all, past)
    const rest = async () => {
      const [before, polled] = [pagesOf(all, past), pagesOf(all, days[2])]
      await waitFor(() => pagesOf(all, days[2]) >= polled + 8, {
        what: () => `polls${said(all)}`,
      })
      return pagesOf(all, past) === before
    }
    await waitFor(rest, { what: 'rest' })
    expect(pagesOf(all, past) - paused).toBeLessThan(400)

    expect((await told(place, 'backfill', 'resume', id)).code).toBe(0)
    const rested = pagesOf(all, past)
    await waitFor(() => pagesOf(all, past) > rested + 20, {
      what: () => `pages${said(all)}`,
    })
    await stopped.kill('SIGTERM')
    all.start('worker', 'other')
    place.simulator.set({ latencyMs: 0, pageSize: 500 })
    await allDone(place, () => said(all))
    expect(compareFiles(place.events, place.simulator, fleetZones, [past])).toEqual(exactly(4 * 4_000))
    // What was read before the pause and the stop was not read again.
    const begun = place.simulator.requests.filter(({ day, token }) => day === past && token === undefined)
    expect(begun).toHaveLength(4)

    place.simulator.set({ latencyMs: 40, pageSize: 20 })
    const third = (await told(place, 'backfill', '--from', yesterday, '--to', yesterday)).stdout.trim()
    await waitFor(() => pagesOf(all, yesterday) > 10, { what: () => `pages${said(all)}` })
    expect((await told(place, 'backfill', 'cancel', third)).code).toBe(0)
    await stopAll(all)
    expect((await backfillsOf(place)).at(-1)).toMatchObject({ state: 'cancelled' })
    const both = compareFiles(place.events, place.simulator, fleetZones, [past, yesterday])
    expect(both).toMatchObject({ repeated: 0, strange: 0 })
  })
})
