import { expect, test } from 'vitest'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import { dayMs, shiftDay } from '../../src/domain/day.ts'
import { packFingerprints } from '../../src/domain/event/seen.ts'
import type { Stream } from '../../src/domain/stream.ts'
import { createApiClock } from '../../src/pump/api-clock.ts'
import { createHousekeeping } from '../../src/upkeep/housekeep.ts'
import { openMemoryStore } from '../setup/stores.ts'
import { at, hourMs, policy, today } from '../domain/builders.ts'
import { commitOnce } from '../contract/checkpoint-store/builders.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'

const never = new AbortController().signal
const holder = { id: 'x', schedule: true }

async function createHouse(
  accounts: readonly string[],
  { readableDays = policy.readableDays, keepDays = 14, held = [] as readonly string[] } = {},
) {
  const clock = createFakeClock(at(2))
  const store = await openMemoryStore({ clock, deadLetterMaxBytes: 1_000 })
  const apiClock = createApiClock(clock)
  const zones = accounts.map((account, index) => ({ id: index + 1, name: account, account }))
  const settings = () => ({
    zones,
    sinks: ['archive', ...held],
    policy: { ...policy, readableDays },
    held: new Map(held.map((sink) => [sink, 'it has another name'])),
  })
  return {
    clock,
    store,
    apiClock,
    keep: createHousekeeping({ store, apiClock, settings, keepDays }),
    async add(
      daysAgo: number,
      isEnded = true,
      {
        zone = 1,
        sink = 'archive',
        ...more
      }: Pick<Checkpoint, 'archiveSinceMs' | 'removed'> & Partial<Stream> = {},
    ) {
      const stream = { zone, day: shiftDay(today, -daysAgo), sink }
      const ended = { as: 'complete', atMs: at(2) - daysAgo * 24 * hourMs } as const
      const seen = new Map([[7, packFingerprints([1n, 2n])]])
      await commitOnce(store, stream, { with: { ...more, ...(isEnded && { ended }) }, seen })
      return stream
    },
  }
}

type House = Awaited<ReturnType<typeof createHouse>>

/** `seen`: all of it is kept; `counts`: its checkpoint, and no fingerprints. */
async function fateOf({ store }: House, stream: Stream): Promise<'seen' | 'counts' | 'gone'> {
  if ((await store.ledger.read(stream)) === undefined) {
    expect(await store.ledger.dropped(stream)).toBe('day')
    return 'gone'
  }
  const isSeen = (await store.ledger.loadSeen(stream, [7])).size === 1
  expect(await store.ledger.dropped(stream)).toBe(isSeen ? undefined : 'index')
  expect(await store.ledger.minutes(stream)).toMatchObject([{ minute: 7, count: 2 }])
  return isSeen ? 'seen' : 'counts'
}

type Place = Parameters<House['add']>[2]
type Row = readonly [daysAgo: number, isEnded: boolean, fate: 'seen' | 'counts' | 'gone', place?: Place]

interface Case {
  readonly what: string
  readonly rows: readonly Row[]
  readonly limits?: Parameters<typeof createHouse>[1]
  /** State of a backfill that waits for all of them. */
  readonly backfill?: 'running' | 'paused'
}

const cases: readonly Case[] = [
  {
    what: 'fingerprints until a day after the day became unreadable, and longer where it has not ended, or for keepDays where an archive is half shipped to it',
    rows: [
      [2, true, 'seen'],
      [3, true, 'seen'],
      [4, true, 'counts'],
      [5, false, 'seen'],
      [6, true, 'seen', { archiveSinceMs: at(2) - 13 * dayMs }],
      [40, true, 'seen', { archiveSinceMs: at(2) - 13 * dayMs }],
      [7, true, 'counts', { archiveSinceMs: at(2) - 15 * dayMs }],
    ],
  },
  {
    what: 'what ended less than keepDays ago, or whose files were removed since, and what has not ended',
    rows: [
      [13, true, 'counts'],
      [40, false, 'seen'],
      [15, true, 'gone'],
      [31, true, 'counts', { removed: { days: 20, atMs: at(2) - 10 * dayMs } }],
      [30, true, 'gone', { removed: { days: 10, atMs: at(2) - 20 * dayMs } }],
    ],
  },
  {
    what: 'streams that are no longer configured for keepDays after their day could be read',
    rows: [
      [18, false, 'gone', { zone: 9 }],
      [18, false, 'gone', { sink: 'siem' }],
      [8, true, 'counts', { zone: 9 }],
      // Its day could be read until fourteen days ago at least.
      [16, false, 'seen', { zone: 9 }],
    ],
  },
  { what: 'a complete day that a backfill reads', rows: [[40, true, 'seen']], backfill: 'running' },
  {
    what: 'what a paused backfill waits for, of a removed sink too',
    rows: [
      [40, true, 'seen'],
      [18, false, 'seen', { sink: 'siem' }],
    ],
    backfill: 'paused',
  },
  ...[30, 3].map((readableDays): Case => ({
    what: `a complete day that the API lists, and a day longer, of ${readableDays} days that it lists`,
    limits: { keepDays: 0.001, readableDays },
    rows: [
      [1, true, 'seen'],
      [readableDays - 1, true, 'seen'],
      [readableDays, true, 'seen'],
      [readableDays + 20, true, 'gone'],
    ],
  })),
]

test.each(cases)('keeps $what', async ({ rows, limits = {}, backfill }) => {
  const house = await createHouse(['a'], limits)
  const streams: Stream[] = []
  for (const [daysAgo, isEnded, , place] of rows) streams.push(await house.add(daysAgo, isEnded, place))
  const days = streams.map(({ day }) => day).sort()
  if (backfill !== undefined)
    await house.store.backfills.add({
      id: 'x',
      createdAtMs: at(2),
      from: days[0]!,
      to: days.at(-1)!,
      state: backfill,
      streams: streams.map((stream) => ({ stream, state: 'queued' })),
    })
  house.apiClock.learn('a', 0, {})
  expect(await house.keep(never)).toBe(true)
  const fates = await Promise.all(streams.map((stream) => fateOf(house, stream)))
  expect(fates).toEqual(rows.map(([, , fate]) => fate))
  if (backfill === undefined) return
  await house.store.backfills.setState('x', 'cancelled')
  await house.keep(never)
  expect(await house.store.catalogue.checkpoints()).toEqual([])
})

test('deletes the fingerprints of a stream that a pump holds once the pump has ended', async () => {
  const house = await createHouse(['a'])
  const stream = await house.add(6)
  house.apiClock.learn('a', 0, {})
  const { fence } = await house.store.ledger.take(stream, holder)
  await house.keep(never)
  expect(await fateOf(house, stream)).toBe('seen')
  await house.store.ledger.release(stream, fence)
  await house.keep(never)
  expect(await fateOf(house, stream)).toBe('counts')
})

const route = { zone: 1, sink: 'archive', firstDay: shiftDay(today, -30) }
const plannedAtMs = at(2) - 20 * 24 * hourMs

test('deletes nothing of an account before its API has answered with its time; other accounts do not wait for it', async () => {
  const house = await createHouse(['a', 'b'])
  const [own, other, left] = [
    await house.add(20),
    await house.add(20, true, { zone: 2 }),
    await house.add(20, true, { zone: 3 }),
  ]
  await house.store.catalogue.rememberRoutes([{ ...route, plannedAtMs }])
  expect(await house.keep(never)).toBe(false)
  house.apiClock.learn('b', 0, {})
  expect(await house.keep(never)).toBe(true)
  expect(await fateOf(house, own)).toBe('seen')
  expect([await fateOf(house, other), await fateOf(house, left)]).toEqual(['gone', 'gone'])
})

test('waits until missed days were recorded, which needs the checkpoints', async () => {
  const house = await createHouse(['a'])
  const stream = await house.add(20)
  await house.store.catalogue.rememberRoutes([{ ...route, plannedAtMs }])
  expect(await house.keep(never)).toBe(false)
  house.apiClock.learn('a', 0, {})
  expect(await house.keep(never)).toBe(false)
  expect(await fateOf(house, stream)).not.toBe('gone')
  await house.store.catalogue.rememberRoutes([{ ...route, plannedAtMs: at(2) }])
  expect(await house.keep(never)).toBe(true)
  expect(await fateOf(house, stream)).toBe('gone')
})

test('keeps what a held sink has, whose missed days nobody records meanwhile, and deletes the rest', async () => {
  const house = await createHouse(['a'], { held: ['siem'] })
  await house.add(20)
  const kept = [await house.add(20, true, { sink: 'siem' }), await house.add(19, false, { sink: 'siem' })]
  await house.store.catalogue.rememberRoutes([{ ...route, sink: 'siem', plannedAtMs }])
  house.apiClock.learn('a', 0, {})
  expect(await house.keep(never)).toBe(true)
  const left = (await house.store.catalogue.checkpoints()).map(({ stream }) => stream)
  expect(left).toHaveLength(2)
  expect(left).toEqual(expect.arrayContaining(kept))
})

test.each([
  { what: 'the wall clock has stepped ahead', jumpDays: 40, offsetDays: 0 },
  { what: 'answers with a wrong Date are confirmed', jumpDays: 0, offsetDays: 40 },
  { what: 'the wall clock has stepped back', jumpDays: -40, offsetDays: 0 },
])('drops nothing that can be read while $what', async ({ jumpDays, offsetDays }) => {
  const house = await createHouse(['a'])
  const streams = [await house.add(1), await house.add(2, false)]
  house.clock.jump(jumpDays * 24 * hourMs)
  for (let answer = 0; answer < 2; answer++) house.apiClock.learn('a', offsetDays * 24 * hourMs, {})
  await house.keep(never)
  for (const stream of streams) expect(await fateOf(house, stream)).toBe('seen')
})
