import { describe, expect, it } from 'vitest'
import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import { shiftDay } from '../../../src/domain/day.ts'
import { packFingerprints } from '../../../src/domain/event/seen.ts'
import type { Stream } from '../../../src/domain/stream.ts'
import { createApiClock } from '../../../src/pump/api-clock.ts'
import { createHousekeeping } from '../../../src/maintenance/housekeeping/housekeep.ts'
import { openMemoryStore } from '../../setup/stores.ts'
import { at, buildCheckpoint, hourMs, policy, today } from '../../domain/builders.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { own } from '../../setup/leftovers.ts'

const never = new AbortController().signal
const holder = { id: 'x', schedule: true }

async function createHouse(
  accounts: readonly string[],
  { readableDays = policy.readableDays, keepDays = 14, held = [] as readonly string[] } = {},
) {
  const clock = createFakeClock(at(2))
  const store = await openMemoryStore({ clock, deadLetterMaxBytes: 1_000 })
  own({ what: 'a store', isLeft: () => true, isFault: false, remove: () => store.close() })
  const apiClock = createApiClock(clock)
  const zones = accounts.map((account, index) => ({ id: index + 1, name: account, account }))
  let forgets = 0
  const counting = {
    ...store,
    upkeep: {
      ...store.upkeep,
      dropIndex: (stream: Stream) => {
        forgets++
        return store.upkeep.dropIndex(stream)
      },
    },
  }
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
    forgets: () => forgets,
    keep: createHousekeeping({ store: counting, apiClock, settings, keepDays }),
    async add(
      daysAgo: number,
      isEnded = true,
      { zone = 1, sink = 'archive', ...more }: Pick<Checkpoint, 'archives'> & Partial<Stream> = {},
    ) {
      const stream = { zone, day: shiftDay(today, -daysAgo), sink }
      const { fence } = await store.ledger.take(stream, holder)
      const ended = { as: 'complete', atMs: at(2) - daysAgo * 24 * hourMs } as const
      const next = buildCheckpoint({ stream, commit: 1, ...more, ...(isEnded && { ended }) })
      const seen = new Map([[7, packFingerprints([1n, 2n])]])
      await store.ledger.commit({ fence, basedOn: 0, next, seen, deadLetters: [], gaps: [] })
      await store.ledger.release(stream, fence)
      return stream
    },
  }
}

describe('housekeeping', () => {
  it('deletes the fingerprints of a stream that a pump holds once the pump has ended', async () => {
    const house = await createHouse(['a'])
    const stream = await house.add(6)
    house.apiClock.learn('a', 0, {})
    const { fence } = await house.store.ledger.take(stream, holder)
    await house.keep(never)
    expect(await house.store.ledger.isIndexDropped(stream)).toBe(false)
    await house.store.ledger.release(stream, fence)
    await house.keep(never)
    expect(await house.store.ledger.isIndexDropped(stream)).toBe(true)
  })

  it('deletes fingerprints of ended days once, a day after they became unreadable, and keeps their counts', async () => {
    const house = await createHouse(['a'])
    const [readable, late, gone, open, copied] = [
      await house.add(2),
      await house.add(3),
      await house.add(4),
      await house.add(5, false),
      // Events are being shipped there from files.
      await house.add(6, true, { archives: {} }),
    ]
    house.apiClock.learn('a', 0, {})
    await house.keep(never)
    await house.keep(never)
    const hasSeen = async (stream: typeof gone) => (await house.store.ledger.loadSeen(stream, [7])).size === 1
    const kept = [readable, late, gone, open, copied].map(hasSeen)
    expect(await Promise.all(kept)).toEqual([true, true, false, true, true])
    expect(await house.store.ledger.minutes(gone)).toMatchObject([{ minute: 7, count: 2 }])
    expect(house.forgets()).toBe(1)
  })

  it('deletes nothing before the API of every account has answered with its time', async () => {
    const house = await createHouse(['a', 'b'])
    await house.add(20)
    await house.keep(never)
    house.apiClock.learn('a', 0, {})
    await house.keep(never)
    expect(await house.store.catalogue.checkpoints()).toHaveLength(1)
    house.apiClock.learn('b', 0, {})
    await house.keep(never)
    expect(await house.store.catalogue.checkpoints()).toEqual([])
  })

  it('keeps what ended less than keepDays ago, and what has not ended', async () => {
    const house = await createHouse(['a'])
    const kept = [await house.add(13), await house.add(40, false)]
    await house.add(15)
    house.apiClock.learn('a', 0, {})
    await house.keep(never)
    const left = (await house.store.catalogue.checkpoints()).map(({ stream }) => stream.day)
    expect(left.sort()).toEqual(kept.map(({ day }) => day).sort())
  })

  it('deletes streams that are no longer configured, keepDays after their day ended', async () => {
    const house = await createHouse(['a'])
    await house.add(18, false, { zone: 9 })
    await house.add(18, false, { sink: 'siem' })
    const forgotten = await house.add(8, true, { zone: 9 })
    // Its day could be read until fourteen days ago at least.
    await house.add(16, false, { zone: 9 })
    house.apiClock.learn('a', 0, {})
    expect(await house.keep(never)).toBe(true)
    const left = (await house.store.catalogue.checkpoints()).map(({ stream }) => stream.day)
    expect(left.sort()).toEqual([shiftDay(today, -16), shiftDay(today, -8)])
    expect((await house.store.ledger.loadSeen(forgotten, [7])).size).toBe(0)
  })

  it('keeps a stream of a removed sink that a backfill is about to read', async () => {
    const house = await createHouse(['a'])
    const stream = await house.add(18, false, { sink: 'siem' })
    const backfill = {
      id: 'x',
      createdAtMs: at(2),
      from: stream.day,
      to: stream.day,
      state: 'paused',
    } as const
    await house.store.backfills.add({ ...backfill, streams: [{ stream, state: 'queued' }] })
    house.apiClock.learn('a', 0, {})
    await house.keep(never)
    expect(await house.store.catalogue.checkpoints()).toHaveLength(1)
  })

  it('waits until missed days were recorded, which needs the checkpoints', async () => {
    const house = await createHouse(['a'])
    await house.add(20)
    const route = { zone: 1, sink: 'archive', firstDay: shiftDay(today, -30) }
    await house.store.catalogue.rememberRoutes([{ ...route, plannedAtMs: at(2) - 20 * 24 * hourMs }])
    expect(await house.keep(never)).toBe(false)
    house.apiClock.learn('a', 0, {})
    expect(await house.keep(never)).toBe(false)
    expect(await house.store.catalogue.checkpoints()).toHaveLength(1)
    await house.store.catalogue.rememberRoutes([{ ...route, plannedAtMs: at(2) }])
    expect(await house.keep(never)).toBe(true)
    expect(await house.store.catalogue.checkpoints()).toEqual([])
  })

  it('keeps what a held sink has, whose missed days nobody records meanwhile, and deletes the rest', async () => {
    const house = await createHouse(['a'], { held: ['siem'] })
    await house.add(20)
    const kept = [await house.add(20, true, { sink: 'siem' }), await house.add(19, false, { sink: 'siem' })]
    const plannedAtMs = at(2) - 20 * 24 * hourMs
    await house.store.catalogue.rememberRoutes([
      { zone: 1, sink: 'siem', firstDay: shiftDay(today, -30), plannedAtMs },
    ])
    house.apiClock.learn('a', 0, {})
    expect(await house.keep(never)).toBe(true)
    const left = (await house.store.catalogue.checkpoints()).map(({ stream }) => stream)
    expect(left).toEqual(expect.arrayContaining(kept))
    expect(left).toHaveLength(2)
  })

  it.each([
    { keepDays: 14, readableDays: 30 },
    { keepDays: 0.001, readableDays: 3 },
    { keepDays: 3, readableDays: 3 },
  ])(
    'keeps a complete day that the API lists, and a day longer: keepDays $keepDays, readableDays $readableDays',
    async (limits) => {
      const house = await createHouse(['a'], limits)
      const { readableDays } = limits
      const kept = [await house.add(1), await house.add(readableDays - 1), await house.add(readableDays)]
      await house.add(readableDays + 20)
      house.apiClock.learn('a', 0, {})
      expect(await house.keep(never)).toBe(true)
      const left = await house.store.catalogue.checkpoints()
      expect(left.map(({ stream }) => stream.day).sort()).toEqual(kept.map(({ day }) => day).sort())
      for (const stream of kept) expect(await house.store.ledger.isIndexDropped(stream)).toBe(false)
    },
  )

  it.each(['running', 'paused'] as const)(
    'keeps a complete day that a %s backfill waits for',
    async (state) => {
      const house = await createHouse(['a'])
      const stream = await house.add(40)
      const backfill = { id: 'x', createdAtMs: at(2), from: stream.day, to: stream.day, state }
      await house.store.backfills.add({ ...backfill, streams: [{ stream, state: 'queued' }] })
      house.apiClock.learn('a', 0, {})
      await house.keep(never)
      expect(await house.store.catalogue.checkpoints()).toHaveLength(1)
      expect(await house.store.ledger.isIndexDropped(stream)).toBe(false)
      await house.store.backfills.setState('x', 'cancelled')
      await house.keep(never)
      expect(await house.store.catalogue.checkpoints()).toEqual([])
    },
  )

  it('keeps a complete day into which half an archive was shipped', async () => {
    const house = await createHouse(['a'])
    await house.add(40, true, { archives: {} })
    house.apiClock.learn('a', 0, {})
    await house.keep(never)
    expect(await house.store.catalogue.checkpoints()).toHaveLength(1)
  })

  it.each([
    { what: 'the wall clock has stepped ahead', jumpDays: 40, offsetDays: 0 },
    { what: 'answers with a wrong Date are confirmed', jumpDays: 0, offsetDays: 40 },
    { what: 'the wall clock has stepped back', jumpDays: -40, offsetDays: 0 },
  ])('drops nothing that can be read while $what', async ({ jumpDays, offsetDays }) => {
    const house = await createHouse(['a'])
    await house.add(1)
    await house.add(2, false)
    house.clock.jump(jumpDays * 24 * hourMs)
    for (let answer = 0; answer < 2; answer++) house.apiClock.learn('a', offsetDays * 24 * hourMs, {})
    await house.keep(never)
    const left = await house.store.catalogue.checkpoints()
    expect(left).toHaveLength(2)
    for (const { stream } of left) expect(await house.store.ledger.isIndexDropped(stream)).toBe(false)
  })
})
