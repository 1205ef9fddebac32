import { expect, test } from 'vitest'
import { dayOf, shiftDay, startOf } from '../../src/domain/day.ts'
import { allDone, backfillsOf, inStore, told } from '../commands/backfilling.ts'
import { waitFor } from '../setup/wait-for.ts'
import { again, daemon, hiddenBelow, textBelow } from './backfill-again.ts'
import { caughtUp } from './caught-up.ts'
import { receiver } from './receiver.ts'
import { compareFiles, exactly, keysOf, partsBelow } from './shipped.ts'
import { endOf, readableDays, workplace, zones } from './workplace.ts'

/** Daemons of other tests run beside these. */
const server = { port: 0 }
const today = dayOf(Date.now())
const yesterday = shiftDay(today, -1)

test('files get new parts in place of the old ones, beside live traffic', async () => {
  const place = await workplace({ days: 200, pageSize: 30, live: { ratePerSecond: 5 } }, { server })
  const { simulator, events } = place
  const days = readableDays()
  await using running = await daemon(place)
  await caughtUp(place, running, { days: days.slice(0, 2) })
  const before = partsBelow(events)
  const id = await again(place, days[0], 'today')
  await allDone(place, running.stderr)
  simulator.set({ live: { ratePerSecond: 0 } })
  await caughtUp(place, running)
  await running.kill('SIGTERM')
  const whole = keysOf(simulator, zones, days).length
  expect(compareFiles(events, simulator, zones, days)).toEqual(exactly(whole))
  const past = before.filter((part) => !part.includes(`day=${today}`))
  expect(partsBelow(events).filter((part) => past.includes(part))).toEqual([])
  const { waiting, replaced } = hiddenBelow(events)
  expect(waiting).toEqual([])
  expect(replaced).toEqual(expect.arrayContaining(past))
  const [status] = await backfillsOf(place)
  expect(status).toMatchObject({ id, again: true, state: 'done', done: 6, leftOut: 0 })
  expect(status!.days[0]).toMatchObject({ events: 2 * 200, done: 2 })
  expect(running.stderr()).toContain('"event":"PartsGaveWay"')
  expect((await told(place, 'backfill', 'list')).stdout).toMatch(
    new RegExp(`^${id}  .*  done, again  6 `, 'm'),
  )
  expect((await told(place, 'status')).stdout).toMatch(new RegExp(`^backfill ${id}, .* again: done, `, 'm'))
  for (const day of days) {
    const audit = await told(place, 'audit', '--zone', '101,102', '--day', day)
    expect(audit.code, audit.stdout).toBe(0)
  }
})

test('a changed configuration is in all lines afterwards, and lines are the same where nothing changed', async () => {
  const place = await workplace({ days: 90, pageSize: 20 })
  const { events, simulator } = place
  const sink = { name: 'archive', type: 'file', path: events }
  expect((await place.once()).code).toBe(0)
  const before = textBelow(events)
  const same = await told(place, 'backfill', '--from', yesterday, '--to', yesterday, '--again')
  expect(same.code, same.stderr).toBe(0)
  expect(same.stderr).toContain('shipped before is shipped once more')
  expect(same.stderr).toMatch(/done: 2 streams read, 10 pages, 180 events shipped, in /)
  expect(textBelow(events)).toEqual(before)
  place.configure({ sinks: [{ ...sink, format: 'raw' }] })
  const raw = await told(place, 'backfill', '--from', shiftDay(today, -2), '--to', 'today', '--again')
  expect(raw.code, raw.stderr).toBe(0)
  const ids = textBelow(events).map((line) => (JSON.parse(line) as { logId?: string }).logId)
  const listed = keysOf(simulator, zones, readableDays()).map((key) => key.split('/')[2])
  expect(ids).toHaveLength(listed.length)
  expect(new Set(ids)).toEqual(new Set(listed))
})

test('where the API lists less than was shipped, files stay as they are', async () => {
  const place = await workplace({ days: { [yesterday]: 60 }, pageSize: 20 })
  const { events, simulator } = place
  const only = ['--from', yesterday, '--to', yesterday]
  expect((await place.once()).code).toBe(0)
  const before = partsBelow(events)
  // The listing of one zone ends after its first page.
  const cut = { kind: 'wrongTypes', fields: { hasMoreData: false } } as const
  simulator.fail({ match: { zone: 102, day: yesterday }, times: Infinity, fault: cut })
  const ended = await told(place, 'backfill', ...only, '--again')
  expect(ended.code).toBe(1)
  const why = 'the API no longer lists 40 events of those shipped: the parts are kept'
  expect(ended.stderr).toContain(`${yesterday}  zone 102 left out: ${why}`)
  expect(compareFiles(events, simulator, zones, [yesterday])).toEqual(exactly(120))
  const kept = (zone: number) => partsBelow(events).filter((part) => part.startsWith(`zone=${zone}/`))
  expect(kept(102)).toEqual(before.filter((part) => part.startsWith('zone=102/')))
  expect(kept(101)).not.toEqual(before.filter((part) => part.startsWith('zone=101/')))
  expect(hiddenBelow(events).waiting).toEqual([])
  simulator.heal()
  const healed = await told(place, 'backfill', ...only, '--again')
  expect(healed.code, healed.stderr).toBe(0)
  expect(kept(102)).not.toEqual(before.filter((part) => part.startsWith('zone=102/')))
  expect(compareFiles(events, simulator, zones, [yesterday])).toEqual(exactly(120))
})

test('cancelled, nothing of it is left; what turned up meanwhile stays', async () => {
  const options = { days: { [yesterday]: 2000 }, pageSize: 10, latencyMs: 0 }
  const place = await workplace(options, { server })
  const { events, simulator } = place
  expect((await place.once()).code).toBe(0)
  const before = partsBelow(events)
  simulator.set({ latencyMs: 10 })
  await using running = await daemon(place)
  const id = await again(place, yesterday, yesterday)
  await waitFor(() => hiddenBelow(events).waiting.length === 2, { what: () => `parts: ${running.stderr()}` })
  const noon = startOf(yesterday) + 43_200_000
  simulator.append(101, yesterday, 7, { timestampMs: (index) => noon + index })
  const stream = { zone: 101, day: yesterday, sink: 'archive' }
  expect((await told(place, 'backfill', 'cancel', id)).code).toBe(0)
  await waitFor(() => hiddenBelow(events).waiting.length === 0, {
    what: () => `their end: ${running.stderr()}`,
    timeoutMs: 20_000,
  })
  await running.kill('SIGTERM')
  expect((await inStore(place, (store) => store.read(stream)))?.again).toBeUndefined()
  expect(partsBelow(events)).toEqual(expect.arrayContaining(before))
  simulator.set({ latencyMs: 0, pageSize: 500 })
  expect((await place.once()).code).toBe(0)
  expect(compareFiles(events, simulator, zones, [yesterday])).toEqual(exactly(4007))
})

test('other sinks get each event once more, the same bytes, from where a kill met it', async () => {
  const far = await receiver()
  const sinks = [{ name: 'siem', type: 'http', preset: 'ndjson', url: far.url, batch: { maxEvents: 40 } }]
  const options = { days: { [yesterday]: 2000 }, pageSize: 40 }
  const place = await workplace(options, { sinks, server, poll: { everySeconds: 0.5, firstRunDays: 1 } })
  const { simulator } = place
  const first = await told(place, 'backfill', '--from', yesterday, '--to', yesterday, '--zone', '101')
  expect(first.code, first.stderr).toBe(0)
  expect(new Set(far.taken).size).toBe(2000)
  const asked = simulator.requests.length
  simulator.set({ latencyMs: 10 })
  const killed = await daemon(place)
  const id = await again(place, yesterday, yesterday, '--zone', '101')
  await waitFor(() => far.taken.length > 2600, {
    what: () => `events: ${killed.stderr()}`,
    timeoutMs: 20_000,
  })
  await killed.kill('SIGKILL')
  await using running = await daemon(place)
  await allDone(place, running.stderr)
  await running.kill('SIGTERM')
  const times = new Map<string, number>()
  for (const line of far.taken) times.set(line, (times.get(line) ?? 0) + 1)
  expect(times.size).toBe(2000)
  const counts = [...times.values()]
  expect(Math.min(...counts)).toBe(2)
  // What was taken and not committed when it was killed came a third time: one page at most.
  expect(counts.filter((count) => count > 2).length).toBeLessThanOrEqual(40)
  const firsts = simulator.requests
    .slice(asked)
    .filter(({ day, token }) => day === yesterday && token === undefined)
  expect(firsts).toHaveLength(1)
  const statuses = await backfillsOf(place)
  expect(statuses.find((each) => each.id === id)?.days[0]).toMatchObject({ events: 2000, done: 1, pages: 50 })
})

test('ships to stdout once more', async () => {
  const place = await workplace({ days: 50 }, { sinks: [{ name: 'out', type: 'stdout' }] })
  const first = await endOf(place.start(['run', '--once']))
  const second = await place.ended(['backfill', '--from', yesterday, '--to', 'today', '--again'])
  expect(second.code, second.stderr).toBe(0)
  const lines = first.stdout.trimEnd().split('\n')
  const repeated = second.stdout.trimEnd().split('\n')
  expect(repeated).toHaveLength(2 * 2 * 50)
  expect(lines).toEqual(expect.arrayContaining(repeated))
  expect(new Set(repeated).size).toBe(200)
})
