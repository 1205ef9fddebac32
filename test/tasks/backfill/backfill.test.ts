import { expect, test } from 'vitest'
import { dayOf, shiftDay, startOf, type Day } from '../../../src/domain/day.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { caughtUp } from '../../e2e/caught-up.ts'
import { expectEachOnce, linesBelow } from '../../e2e/shipped.ts'
import { endOf as outcomeOf, readableDays, workplace, zones } from '../../e2e/workplace.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { allDone, backfillsOf, told } from './backfilling.ts'
import { inStore } from '../../setup/stores.ts'

/** Daemons of other tests run beside these. */
const server = { port: 0 }
const today = dayOf(Date.now())
const yesterday = shiftDay(today, -1)
/** No traffic of its own, so that only what a test appends is new. */
const perDay = 60

function late(simulator: Simulator, zone: number, day: Day, count: number): string[] {
  const noon = startOf(day) + 43_200_000
  const added = simulator.append(zone, day, count, { timestampMs: (index) => noon + index * 1000 })
  return added.map(({ logId }) => `${zone}/${day}/${logId}`)
}

test('reads complete days again in place, and ships exactly what is missing', async () => {
  const poll = { everySeconds: 0.5, settleAfterHours: [0.001] }
  const place = await workplace({ days: perDay, pageSize: 20 }, { poll })
  const { simulator, events } = place
  // With nothing found the second time, past days whose last scan is due become complete.
  for (const _ of [1, 2]) expect(await place.once()).toMatchObject({ code: 0 })
  const before = new Set(linesBelow(events).map(({ key }) => key))
  const missing = zones.flatMap((zone) => late(simulator, zone, yesterday, 7))
  late(simulator, 101, shiftDay(today, -2), 3)
  simulator.append(101, today, 5, { timestampMs: startOf(today) })
  const asked = simulator.requests.length

  const ended = await told(place, 'backfill', '--from', 'yesterday', '--to', 'yesterday')
  expect(ended.code, ended.stderr).toBe(0)
  expect(ended.stdout).toMatch(/^[0-9a-f]{10}\n$/)
  expect(ended.stderr).toContain(`  ${yesterday}  2 streams queued, about 6 requests\n`)
  expect(ended.stderr).toMatch(
    /done: 2 streams read, 8 pages, 14 events that counted as not shipped\b.*, in /,
  )
  const fresh = linesBelow(events).filter(({ key }) => !before.has(key))
  expect(fresh.map(({ key }) => key).sort()).toEqual(missing.sort())
  expect(new Set(simulator.requests.slice(asked).map(({ day }) => day))).toEqual(new Set([yesterday]))
  const [status] = await backfillsOf(place)
  expect(status).toMatchObject({ id: ended.stdout.trim(), state: 'done', done: 2, queued: 0, leftOut: 0 })
  expect(status!.days).toEqual([
    { day: yesterday, done: 2, queued: 0, leftOut: 0, pages: 8, expectedPages: 8, events: 14 },
  ])
})

test('lists the days that cannot be read, reads the others, and exits with 1', async () => {
  const place = await workplace({ days: perDay })
  const [first, , last] = readableDays()
  const range = ['--from', shiftDay(first, -5), '--to', shiftDay(last, 2)]
  const ended = await told(place, 'backfill', ...range, '--zone', '101,102', '--sink', 'archive', '--watch')
  expect(ended.code, ended.stderr).toBe(1)
  for (const left of [
    `5 days from ${shiftDay(first, -5)} to ${shiftDay(first, -1)}  zones 101, 102 → archive left out: the API no longer`,
    `2 days from ${shiftDay(last, 1)} to ${shiftDay(last, 2)}  zones 101, 102 → archive left out: the day has not begun`,
  ])
    expect(ended.stderr).toContain(`  ${left}`)
  expectEachOnce(place.events, place.simulator, zones, readableDays())
  expect(await backfillsOf(place)).toMatchObject([{ state: 'done', done: 6, leftOut: 14 }])
  const nothing = await told(place, 'backfill', '--from', '2020-01-01', '--to', '2020-01-03')
  expect([nothing.code, nothing.stdout]).toEqual([1, ''])
  expect(nothing.stderr).toContain('nothing of it can be read')
  expect(await backfillsOf(place)).toHaveLength(1)
})

test('reads days older than poll.readableDays if the API still has them', async () => {
  const old = shiftDay(today, -8)
  const options = { days: { [old]: 400 }, readableDays: 9, pageSize: 20, latencyMs: 5 }
  const place = await workplace(options, { server })
  const { simulator, events } = place
  const to = shiftDay(today, -7)
  const inPlace = await told(place, 'backfill', '--from', old, '--to', to, '--zone', '101')
  expect(inPlace.code, inPlace.stderr).toBe(0)
  expectEachOnce(events, simulator, [101], [old, to])
  // Beside a run, whose own plan would give such a day up unasked.
  await using running = place.start(['run'])
  await running.waitForLine(/"event":"Started"/)
  const beside = await told(place, 'backfill', '--from', old, '--to', old, '--zone', '102', '--watch')
  expect(beside.code, beside.stderr).toBe(0)
  expectEachOnce(events, simulator, zones, [old, to])
  await running.kill('SIGTERM')
  // What was shipped of such a day and is forgotten later is not shipped again.
  await inStore(place, ({ upkeep }) => upkeep.dropIndex({ zone: 101, day: old, sink: 'archive' }))
  const again = await told(place, 'backfill', '--from', old, '--to', old, '--zone', '101')
  expect([again.code, again.stderr]).toEqual([
    1,
    expect.stringMatching(/left out: the day was shipped, .* ship it twice/s),
  ])
})

test('is paused, resumed and cancelled from another terminal, and ends with the page', async () => {
  const place = await workplace({ days: { [yesterday]: 3000 }, pageSize: 10, latencyMs: 20 })
  const { simulator, events } = place
  const only = ['--from', yesterday, '--to', yesterday]
  await using first = place.start(['backfill', ...only])
  const [id] = await first.waitForLine(/^[0-9a-f]{10}$/)
  await waitFor(() => simulator.requests.length > 20, { what: () => `pages: ${first.stderr()}` })
  const status = await told(place, 'status')
  expect(status.stdout).toMatch(new RegExp(`^Backfill ${id} \\(${yesterday}\\): \\d+ %, \\d+ events`, 'm'))
  const paused = await told(place, 'backfill', 'pause', id)
  expect([paused.code, paused.stdout]).toEqual([0, `${id} paused\n`])
  const stopped = await outcomeOf(first)
  expect([stopped.code, stopped.stderr]).toEqual([1, expect.stringMatching(/paused: .*2 not read/)])
  const read = linesBelow(events).length
  expect(read).toBeLessThan(2 * 3000)

  simulator.set({ latencyMs: 0, pageSize: 500 })
  await using second = place.start(['backfill', 'resume', id, '--watch'])
  const resumed = await outcomeOf(second)
  expect([resumed.code, resumed.stdout]).toEqual([0, `${id} running\n`])
  expectEachOnce(events, simulator, zones, [yesterday])
  // It went on where it was: no page was read twice, but for one that may have been under way.
  const again = simulator.requests.filter(({ zone, token }) => zone === 101 && token === undefined)
  expect(again).toHaveLength(1)

  const done = await told(place, 'backfill', 'cancel', id)
  expect([done.code, done.stdout, done.stderr]).toEqual([1, '', `backfill ${id} is already done\n`])
  const list = await told(place, 'backfill', 'list')
  expect(list.stdout).toMatch(/^backfill +from +to +state +read +done +queued +left out +created at\n/)
  expect(list.stdout).toMatch(new RegExp(`^${id}  ${yesterday}  ${yesterday}  done  +100 % +2 +0 +0 `, 'm'))
  for (const command of ['pause', 'resume', 'cancel']) {
    const unknown = await told(place, 'backfill', command, 'nope')
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      `error: backfill nope is not known; available: ${id}\n`,
    ])
  }
})

test('is taken over by a running process, which ships the missing events alongside live traffic', async () => {
  const place = await workplace({ days: 200, pageSize: 50, live: { ratePerSecond: 10 } }, { server })
  const { simulator, events } = place
  await using running = place.start(['run'])
  await running.waitForLine(/"event":"Started"/)
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
  expect(watched.stderr).toMatch(
    / done: 2 streams read, 10 pages, 30 events that counted as not shipped\b.*, in /,
  )
  await allDone(place, running.stderr)
  simulator.calm()
  await caughtUp(place, running)
  await running.kill('SIGTERM')
  expectEachOnce(events, simulator, zones, readableDays())
})

const usages: readonly (readonly [args: string, message: RegExp])[] = [
  ['backfill', /^error: required option '--from <day>' not specified/],
  ['backfill --from today --to yesterday', /^error: --from .* is after --to /],
  ['backfill --from 11-20-2026 --to today', /'11-20-2026' is invalid.*YYYY-MM-DD, here 2026-11-20/],
  ['backfill --from 1990-01-01 --to today', /asks for \d+ streams .*the most is 20000/],
  ['backfill pause abc', /^error: backfill abc is not known; none is available/],
]

test('reports wrong usage, and creates nothing', async () => {
  const place = await workplace()
  for (const [args, message] of usages) {
    const { code, stdout, stderr } = await told(place, ...args.split(' '))
    expect([args, code, stdout], stderr).toEqual([args, 2, ''])
    expect(stderr.split('\n')[0], args).toMatch(message)
  }
  const list = await told(place, 'backfill', 'list')
  expect([list.code, list.stdout]).toEqual([0, 'no backfills\n'])
  expect(place.simulator.requests).toEqual([])
  const { stderr } = await told(place, 'backfill', '--from', 'yesterday', '--dry-run')
  expect(stderr).toContain(`backfill from ${yesterday} to ${today}: 2 days × `)
  expect(await backfillsOf(place)).toEqual([])
})
