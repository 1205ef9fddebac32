import { describe, expect, test } from 'vitest'
import { backfillsOf } from '../commands/backfilling.ts'
import { redisServerAvailable } from '../setup/redis.ts'
import { waitFor } from '../setup/wait-for.ts'
import { again, hiddenBelow } from './backfill-again.ts'
import { askedBy, expectWhole, fleet, said, stopAll, untilWhole } from './fleet.ts'
import { linesBelow, partsBelow } from './shipped.ts'

/** The run itself begins with today; the past is for the backfills. */
const poll = { everySeconds: 1, firstRunDays: 1 }

// Each has a Redis of its own, and mostly waits for locks to run out.
describe.skipIf(!redisServerAvailable())('days once more over Redis', { concurrent: true }, () => {
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
    await killed.waitForLine(/"event":"Started"/, 60_000)
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
    await frozen.waitForLine(/"event":"Started"/, 60_000)
    const ids = [await again(place, yesterday, yesterday, '--zone', '101')]
    await frozen.waitForLine(/^frozen$/, 60_000)
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
    const polls = () => place.simulator.requests.filter(({ day }) => day === days[2]).length
    const polled = polls()
    await waitFor(() => polls() > polled + 12, {
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
})
