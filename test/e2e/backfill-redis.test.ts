import { describe, expect, test } from 'vitest'
import { shiftDay, startOf, type Day } from '../../src/domain/day.ts'
import { allDone, backfillsOf, told } from '../commands/backfilling.ts'
import { redisServerAvailable } from '../setup/redis.ts'
import { waitFor } from '../setup/wait-for.ts'
import { again, hiddenBelow } from './backfill-again.ts'
import { askedBy, expectWhole, fleet, fleetZones, said, stopAll, untilWhole, type Fleet } from './fleet.ts'
import { compareFiles, exactly, linesBelow, partsBelow } from './shipped.ts'

/** The run itself begins with today; the past is for the backfills. */
const poll = { everySeconds: 1, firstRunDays: 1 }

function pagesOf({ place }: Fleet, day: Day): number {
  return place.simulator.requests.filter((request) => request.day === day).length
}

describe.skipIf(!redisServerAvailable())('backfills over Redis', { concurrent: true }, () => {
  test(
    'read in place where no process works, also where there is no store yet',
    { timeout: 60_000 },
    async () => {
      const all = await fleet({ simulator: { days: 60, pageSize: 20 }, settings: { poll } })
      const { place, days } = all
      const list = await told(place, 'backfill', 'list')
      expect([list.code, list.stdout], list.stderr).toEqual([0, 'no backfills\n'])
      const ended = await place.ended(['backfill', '--from', shiftDay(days[0], -2), '--to', days[1]])
      expect(ended.code, ended.stderr).toBe(1)
      expect(ended.stdout).toMatch(/^[0-9a-f]{10}\n$/)
      expect(ended.stderr).toContain('left out: the API no longer keeps this day')
      expect(ended.stderr).toMatch(/done: 8 streams read, 24 pages, 480 events shipped, 8 left out, in /)
      expect(compareFiles(place.events, place.simulator, fleetZones, days.slice(0, 2))).toEqual(exactly(480))
      const late = place.simulator.append(101, days[1], 3, { timestampMs: startOf(days[1]) + 1_000 })
      const more = await place.ended(['backfill', '--from', days[1], '--to', days[1], '--zone', '101'])
      expect(more.code, more.stderr).toBe(0)
      expect(more.stderr).toContain(`, ${late.length} events shipped, in `)
      expect((await backfillsOf(place)).map(({ state, done, leftOut }) => [state, done, leftOut])).toEqual([
        ['done', 8, 8],
        ['done', 1, 0],
      ])
    },
  )

  test(
    'are paused, resumed and cancelled beside workers, and survive their end',
    { timeout: 120_000 },
    async () => {
      const simulator = { days: { ...daysWith(4_000) }, pageSize: 20, latencyMs: 40 }
      const all = await fleet({ simulator, settings: { poll } })
      const { place, days } = all
      const [first, yesterday] = days
      all.start('scheduler', 'scheduler')
      const stopped = all.start('worker', 'stopped')
      await stopped.waitForLine(/"event":"Started"/)
      const { code, stdout, stderr } = await told(place, 'backfill', '--from', yesterday, '--to', yesterday)
      expect([code, stderr]).toEqual([0, expect.stringContaining(' takes it')])
      const id = stdout.trim()
      await waitFor(() => pagesOf(all, yesterday) > 30, {
        what: () => `pages${said(all)}`,
        timeoutMs: 30_000,
      })

      expect((await told(place, 'backfill', 'pause', id)).code).toBe(0)
      // Not at the end of a slice, which lasts ten seconds: what was under way ends, and nothing more is asked for.
      const pausedAtMs = Date.now()
      const rest = async () => {
        const [before, polled] = [pagesOf(all, yesterday), pagesOf(all, days[2])]
        await waitFor(() => pagesOf(all, days[2]) >= polled + 8, {
          what: () => `polls${said(all)}`,
          timeoutMs: 30_000,
        })
        return pagesOf(all, yesterday) === before
      }
      await waitFor(rest, { what: 'rest', timeoutMs: 40_000 })
      const latest = place.simulator.requests.findLast(({ day }) => day === yesterday)!
      expect(latest.at - pausedAtMs).toBeLessThan(6_000)

      expect((await told(place, 'backfill', 'resume', id)).code).toBe(0)
      const rested = pagesOf(all, yesterday)
      await waitFor(() => pagesOf(all, yesterday) > rested + 20, {
        what: () => `pages${said(all)}`,
        timeoutMs: 30_000,
      })
      await stopped.kill('SIGTERM')
      all.start('worker', 'other')
      place.simulator.set({ latencyMs: 0, pageSize: 500 })
      await allDone(place, () => said(all))
      expect(compareFiles(place.events, place.simulator, fleetZones, [yesterday])).toEqual(exactly(4 * 4_000))
      // What was read before the pause and the stop was not read again.
      const begun = place.simulator.requests.filter(
        ({ day, token }) => day === yesterday && token === undefined,
      )
      expect(begun).toHaveLength(4)

      place.simulator.set({ latencyMs: 40, pageSize: 20 })
      const third = (await told(place, 'backfill', '--from', first, '--to', first)).stdout.trim()
      await waitFor(() => pagesOf(all, first) > 10, { what: () => `pages${said(all)}`, timeoutMs: 30_000 })
      expect((await told(place, 'backfill', 'cancel', third)).code).toBe(0)
      await stopAll(all)
      expect((await backfillsOf(place)).at(-1)).toMatchObject({ state: 'cancelled' })
      const both = compareFiles(place.events, place.simulator, fleetZones, [first, yesterday])
      expect(both).toMatchObject({ repeated: 0, strange: 0 })
    },
  )

  test('ship a day once more with several workers, one of them killed', { timeout: 120_000 }, async () => {
    const all = await fleet({
      simulator: { days: 400, pageSize: 20, latencyMs: 20 },
      settings: { poll: { everySeconds: 1 }, workers: { streams: 4 } },
    })
    const { place, days } = all
    const { events } = place
    all.start('scheduler', 'scheduler')
    const workers = [all.start('worker', 'killed'), all.start('worker', 'other')]
    await untilWhole(all)
    const before = partsBelow(events)
    expect(new Set(before.map((part) => part.split('-').at(-1))).size).toBe(2)
    const asked = place.simulator.requests.length
    const id = await again(place, days[0], days[1])
    const by = () =>
      new Set(
        place.simulator.requests
          .slice(asked)
          .filter(({ day }) => day !== days[2])
          .map(askedBy),
      )
    await waitFor(() => by().size === 2, { what: () => `both workers${said(all)}`, timeoutMs: 30_000 })
    await waitFor(() => hiddenBelow(events).waiting.length > 0, { what: () => `parts${said(all)}` })
    await workers[0]!.kill('SIGKILL')
    await waitFor(async () => (await backfillsOf(place)).find((each) => each.id === id)?.state === 'done', {
      what: () => `the backfill${said(all)}`,
      timeoutMs: 90_000,
      everyMs: 200,
    })
    await untilWhole(all)
    await stopAll(all)
    const past = before.filter((part) => !part.includes(`day=${days[2]}`))
    expect(partsBelow(events).filter((part) => past.includes(part))).toEqual([])
    expect(hiddenBelow(events)).toEqual({ waiting: [], replaced: past })
    await expectWhole(all)
  })

  test('finish a move of parts that a killed process began', { timeout: 120_000 }, async () => {
    const all = await fleet({ simulator: { days: 60, pageSize: 20 }, settings: { poll } })
    const { place, days } = all
    const { events } = place
    const [, yesterday] = days
    const first = await place.ended(['backfill', '--from', yesterday, '--to', yesterday, '--zone', '101'])
    expect(first.code, first.stderr).toBe(0)
    const before = partsBelow(events)
    const killed = place.entry(['--role', 'all', '--kill', 'after:move:1'])
    await killed.waitForLine(/"event":"Started"/)
    const id = await again(place, yesterday, yesterday, '--zone', '101')
    expect(await killed.exited, killed.stderr()).toMatchObject({ signal: 'SIGKILL' })
    const amid = linesBelow(events).filter(({ key }) => key.startsWith(`101/${yesterday}/`))
    expect(amid).toHaveLength(2 * 60)
    all.start('all', 'other')
    const isDone = async () => (await backfillsOf(place)).find((each) => each.id === id)?.state === 'done'
    await waitFor(isDone, { what: () => `the backfill${said(all)}`, timeoutMs: 90_000, everyMs: 200 })
    await stopAll(all)
    const after = linesBelow(events).filter(({ key }) => key.startsWith(`101/${yesterday}/`))
    expect(new Set(after.map(({ key }) => key)).size).toBe(60)
    expect(after).toHaveLength(60)
    expect(hiddenBelow(events)).toEqual({ waiting: [], replaced: before })
  })

  test('move nothing once a process thaws that slept before it', { timeout: 150_000 }, async () => {
    const all = await fleet({ simulator: { days: 60, pageSize: 20 }, settings: { poll } })
    const { place, days } = all
    const { events } = place
    const [, yesterday] = days
    const first = await place.ended(['backfill', '--from', yesterday, '--to', yesterday, '--zone', '101'])
    expect(first.code, first.stderr).toBe(0)
    await using frozen = place.entry(['--role', 'all', '--freeze', 'before:move:1'])
    await frozen.waitForLine(/"event":"Started"/)
    const ids = [await again(place, yesterday, yesterday, '--zone', '101')]
    await frozen.waitForLine(/^frozen$/)
    all.start('all', 'other')
    const areDone = async () =>
      (await backfillsOf(place))
        .filter((each) => ids.includes(each.id))
        .every(({ state }) => state === 'done')
    const done = { what: () => `the backfills${said(all)}`, timeoutMs: 90_000, everyMs: 200 }
    await waitFor(areDone, done)
    // What took its place then gives way itself.
    ids.push(await again(place, yesterday, yesterday, '--zone', '101'))
    await waitFor(areDone, done)
    const parts = partsBelow(events)
    await frozen.kill('SIGCONT')
    // It goes on with its move, and finds nothing to move; polls go on beside it.
    const polled = pagesOf(all, days[2])
    await waitFor(() => pagesOf(all, days[2]) > polled + 12, {
      what: () => `polls${said(all)}`,
      timeoutMs: 40_000,
    })
    await frozen.kill('SIGTERM')
    await stopAll(all)
    const own = (names: readonly string[]) => names.filter((part) => part.includes(`day=${yesterday}`))
    expect(own(partsBelow(events))).toEqual(own(parts))
    const lines = linesBelow(events).filter(({ key }) => key.startsWith(`101/${yesterday}/`))
    expect(lines).toHaveLength(60)
    expect(new Set(lines.map(({ key }) => key)).size).toBe(60)
  })

  const everySeconds = 3
  /** What a due poll needs until its request is noted, on a busy machine. */
  const slackMs = 700

  test('give way to live streams of their account', { timeout: 120_000 }, async () => {
    const simulator = { days: { ...daysWith(20_000), ...todayWith(5) }, pageSize: 10, latencyMs: 60 }
    const all = await fleet({ simulator, settings: { poll: { everySeconds, firstRunDays: 1 } } })
    const { place, days } = all
    const [, yesterday, today] = days
    all.start('scheduler', 'scheduler')
    await all.start('worker', 'one').waitForLine(/"event":"Started"/)
    await all.start('worker', 'two').waitForLine(/"event":"Started"/)
    await told(place, 'backfill', '--from', yesterday, '--to', yesterday, '--zone', '101,102')
    await waitFor(() => pagesOf(all, today) >= 32 && pagesOf(all, yesterday) > 60, {
      what: () => `both lanes${said(all)}`,
      timeoutMs: 60_000,
    })
    await stopAll(all)
    const { requests } = place.simulator
    const pages = requests.filter(({ day }) => day === yesterday)
    const overtaken = fleetZones.flatMap((zone) => {
      const polls = requests.filter((request) => request.day === today && request.zone === zone)
      return polls.slice(2).map((poll, index) => {
        const dueAt = polls[index + 1]!.at + everySeconds * 1000 + slackMs
        return pages.filter(({ at }) => at > dueAt && at < poll.at).length
      })
    })
    expect(overtaken.length).toBeGreaterThanOrEqual(16)
    // One for each backfill that was under way.
    expect(Math.max(...overtaken), overtaken.join(' ')).toBeLessThanOrEqual(2)
  })
})

function daysWith(entries: number): Record<string, number> {
  const today = new Date().toISOString().slice(0, 10) as Day
  return { [shiftDay(today, -1)]: entries, [shiftDay(today, -2)]: entries }
}

function todayWith(entries: number): Record<string, number> {
  return { [new Date().toISOString().slice(0, 10)]: entries }
}
