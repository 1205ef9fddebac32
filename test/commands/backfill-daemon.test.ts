import { expect, test } from 'vitest'
import { dayOf, shiftDay, startOf } from '../../src/domain/day.ts'
import type { SimulatorRequest } from '../../src/simulator/simulator.ts'
import { caughtUp } from '../e2e/caught-up.ts'
import { compareFiles, exactly, keysOf } from '../e2e/shipped.ts'
import { readableDays, workplace, zones, type Workplace } from '../e2e/workplace.ts'
import type { TestProcess } from '../setup/processes.ts'
import { waitFor } from '../setup/wait-for.ts'
import { allDone, backfillsOf, told } from './backfilling.ts'

/** Daemons of other tests run beside these. */
const server = { port: 0 }
const today = dayOf(Date.now())
const yesterday = shiftDay(today, -1)

async function daemon(place: Workplace): Promise<TestProcess> {
  const child = place.start(['run'])
  await child.waitForLine(/"event":"Started"/)
  return child
}

test('is taken over by a running process, which ships the missing events alongside live traffic', async () => {
  const place = await workplace({ days: 200, pageSize: 50, live: { ratePerSecond: 10 } }, { server })
  const { simulator, events } = place
  await using running = await daemon(place)
  await caughtUp(place, running, { days: readableDays().slice(0, 2) })
  // Two days ago: the run has read this day whole. It polls yesterday until an hour after its end.
  const past = shiftDay(today, -2)
  for (const zone of zones)
    simulator.append(zone, past, 30, { timestampMs: (index) => startOf(past) + index * 1000 })
  const handed = await told(place, 'backfill', '--from', past, '--to', past, '--zone', '101')
  expect([handed.code, handed.stdout]).toEqual([0, expect.stringMatching(/^[0-9a-f]{10}\n$/)])
  expect(handed.stderr).toContain(`process ${running.pid} on host `)
  const watched = await told(place, 'backfill', '--from', past, '--to', past, '--watch')
  expect(watched.code, watched.stderr).toBe(0)
  expect(watched.stderr).toMatch(/ done: 2 streams read, 10 pages, 30 events that were missing, in /)
  await allDone(place, running.stderr)
  simulator.set({ live: { ratePerSecond: 0 } })
  await caughtUp(place, running)
  await running.kill('SIGTERM')
  const whole = keysOf(simulator, zones, readableDays()).length
  expect(compareFiles(events, simulator, zones, readableDays())).toEqual(exactly(whole))
})

test('continues after its process was killed, and serves two backfills of the same day', async () => {
  const options = { days: { [yesterday]: 4000 }, pageSize: 20, latencyMs: 10 }
  // The run itself begins with today; the past is for the backfills.
  const place = await workplace(options, { server, poll: { everySeconds: 5, firstRunDays: 1 } })
  const { simulator, events } = place
  const first = await daemon(place)
  const backfill = ['backfill', '--from', yesterday, '--to', yesterday]
  const ids = [await told(place, ...backfill), await told(place, ...backfill, '--zone', '102')].map(
    ({ stdout }) => stdout.trim(),
  )
  const pages = () => simulator.requests.filter(({ day }) => day === yesterday).length
  await waitFor(() => pages() > 60, { what: () => `pages: ${first.stderr()}` })
  await first.kill('SIGKILL')
  expect((await backfillsOf(place)).map(({ state }) => state)).toEqual(['running', 'running'])
  expect((await backfillsOf(place))[0]!.days[0]!.pages).toBeGreaterThan(40)
  simulator.set({ latencyMs: 0, pageSize: 200 })
  await using second = await daemon(place)
  await allDone(place, second.stderr)
  await second.kill('SIGTERM')
  expect(compareFiles(events, simulator, zones, [yesterday])).toEqual(exactly(8000))
  expect((await backfillsOf(place)).map(({ id, done }) => [id, done])).toEqual([
    [ids[0], 2],
    [ids[1], 1],
  ])
  // The second one's scan began for it; and what was read before the kill was not read again.
  const begun = simulator.requests.filter(({ day, token }) => day === yesterday && token === undefined)
  expect(begun.map(({ zone }) => String(zone)).sort()).toEqual(['101', '102', '102'])
})

const everySeconds = 2
/** What a request takes to arrive where it is noted, on a busy machine. */
const slackMs = 300

test('once a live stream is due, at most one page of a backfill starts before it', async () => {
  // Slower than what a poll needs from its beginning to its first request.
  const options = { days: { [yesterday]: 20_000, [today]: 5 }, pageSize: 10, latencyMs: 40 }
  const place = await workplace(options, { server, poll: { everySeconds, firstRunDays: 1 } })
  const { simulator } = place
  await using running = await daemon(place)
  await told(place, 'backfill', '--from', yesterday, '--to', yesterday, '--zone', '101')
  const pagesOf = (day: string) => simulator.requests.filter((request) => request.day === day)
  await waitFor(() => pagesOf(today).length >= 12 && pagesOf(yesterday).length > 100, {
    what: () => `both priorities: ${running.stderr()}`,
  })
  await running.kill('SIGTERM')
  const overtaken = zones.flatMap((zone) => {
    const polls = pagesOf(today).filter((request) => request.zone === zone)
    return polls.slice(1).map((poll, index) => pagesBetween(pagesOf(yesterday), polls[index]!.at, poll.at))
  })
  expect(overtaken.length).toBeGreaterThanOrEqual(10)
  expect(Math.max(...overtaken), overtaken.join(' ')).toBeLessThanOrEqual(1)
})

/** Pages that were asked for from the instant at which the poll after the one at `polledAt` was due, until it came. */
function pagesBetween(pages: readonly SimulatorRequest[], polledAt: number, nextAt: number): number {
  const dueAt = polledAt + everySeconds * 1000 + slackMs
  return pages.filter(({ at }) => at > dueAt && at < nextAt).length
}
