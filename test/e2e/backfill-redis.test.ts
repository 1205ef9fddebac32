import { describe, expect, test } from 'vitest'
import { shiftDay, startOf, type Day } from '../../src/domain/day.ts'
import type { SimulatorRequest } from '../../src/simulator/simulator.ts'
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
  test('read in place if no process is active, also without a store', async () => {
    const all = await fleet({ simulator: { days: 60, pageSize: 20 }, settings: { poll } })
    const { place, days } = all
    const list = await told(place, 'backfill', 'list')
    expect([list.code, list.stdout], list.stderr).toEqual([0, 'no backfills\n'])
    const ended = await place.ended(['backfill', '--from', shiftDay(days[0], -2), '--to', days[1]])
    expect(ended.code, ended.stderr).toBe(1)
    expect(ended.stdout).toMatch(/^[0-9a-f]{10}\n$/)
    expect(ended.stderr).toContain('left out: the API no longer keeps this day')
    expect(ended.stderr).toMatch(
      /done: 8 streams read, 24 pages, 480 events that were missing, 8 left out, in /,
    )
    expect(compareFiles(place.events, place.simulator, fleetZones, days.slice(0, 2))).toEqual(exactly(480))
    const late = place.simulator.append(101, days[1], 3, { timestampMs: startOf(days[1]) + 1_000 })
    const more = await place.ended(['backfill', '--from', days[1], '--to', days[1], '--zone', '101'])
    expect(more.code, more.stderr).toBe(0)
    expect(more.stderr).toContain(`, ${late.length} events that were missing, in `)
    expect((await backfillsOf(place)).map(({ state, done, leftOut }) => [state, done, leftOut])).toEqual([
      ['done', 8, 8],
      ['done', 1, 0],
    ])
  })

  test('are paused, resumed and cancelled while workers are active, and continue after these end', async () => {
    const simulator = { days: { ...daysWith(4_000) }, pageSize: 20, latencyMs: 40 }
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
    // Not at the end of a slice, which lasts ten seconds: what was under way ends, and nothing more is asked for.
    const pausedAtMs = Date.now()
    const rest = async () => {
      const [before, polled] = [pagesOf(all, past), pagesOf(all, days[2])]
      await waitFor(() => pagesOf(all, days[2]) >= polled + 8, {
        what: () => `polls${said(all)}`,
      })
      return pagesOf(all, past) === before
    }
    await waitFor(rest, { what: 'rest' })
    const latest = place.simulator.requests.findLast(({ day }) => day === past)!
    expect(latest.at - pausedAtMs).toBeLessThan(8_000)

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

  test('send at most every fourth request of their process while it reads live streams', async () => {
    const simulator = { days: { ...daysWith(20_000), ...todayWith(5) }, pageSize: 10, latencyMs: 60 }
    const all = await fleet({ simulator, settings: { poll } })
    const { place, days } = all
    // Yesterday is polled until an hour after its end.
    const [past, , today] = days
    all.start('all', 'one')
    await waitFor(() => pagesOf(all, today) >= 4, { what: () => `polls${said(all)}` })
    await told(place, 'backfill', '--from', past, '--to', past)
    await waitFor(() => pagesOf(all, past) > 40, { what: () => `the backfill${said(all)}` })
    for (const zone of fleetZones) place.simulator.append(zone, today, 400)
    const appendedAt = place.simulator.requests.length
    const live = () => compareFiles(place.events, place.simulator, fleetZones, [today])
    await waitFor(() => live().missing === 0, { what: () => `live events${said(all)}`, everyMs: 100 })
    expect((await backfillsOf(place)).map(({ state }) => state)).not.toContain('done')
    await stopAll(all)
    expect(live()).toMatchObject({ missing: 0, repeated: 0 })

    const requests = place.simulator.requests.slice(appendedAt)
    // A stream with 41 pages is read without a pause from its second page on.
    const isRead = ({ zone, day, token }: SimulatorRequest) =>
      zone === fleetZones[0] && day === today && token !== undefined
    const first = requests.findIndex(isRead)
    const pages = requests.filter(isRead).slice(0, 38)
    const meanwhile = requests.slice(first, requests.indexOf(pages.at(-1)!) + 1)
    const backfilled = meanwhile.filter(({ day }) => day === past).length
    expect(pages).toHaveLength(38)
    expect(backfilled).toBeGreaterThan(0)
    // A few may have been sent before the other live streams began.
    expect(backfilled).toBeLessThanOrEqual(meanwhile.length / 4 + fleetZones.length)
  })
})

function daysWith(entries: number): Record<string, number> {
  const today = new Date().toISOString().slice(0, 10) as Day
  return { [shiftDay(today, -1)]: entries, [shiftDay(today, -2)]: entries }
}

function todayWith(entries: number): Record<string, number> {
  return { [new Date().toISOString().slice(0, 10)]: entries }
}
