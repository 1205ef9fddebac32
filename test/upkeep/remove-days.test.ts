import { existsSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import { dayMs, shiftDay } from '../../src/domain/day.ts'
import { Failure } from '../../src/domain/failure.ts'
import type { InternalEvent } from '../../src/domain/internal-event.ts'
import type { Stream } from '../../src/domain/stream.ts'
import { createDayRemoval } from '../../src/upkeep/remove-days.ts'
import { createApiClock } from '../../src/pump/api-clock.ts'
import { commitOnce } from '../contract/checkpoint-store/builders.ts'
import { at, policy, today } from '../domain/builders.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'
import { noTracer } from '../fakes/no-tracer.ts'
import { openMemoryStore } from '../setup/stores.ts'
import { buildEvents, StreamLedger } from '../sinks/file/samples.ts'
import { createWorkbench } from '../sinks/file/workbench.ts'

const never = new AbortController().signal
const holder = { id: 'next', schedule: false }
const ended = { as: 'complete', atMs: at(2) - 3 * dayMs } as const

async function setUp(retention: { days: number | null; maxBytes: number | null }, { isSure = true } = {}) {
  const bench = await createWorkbench()
  onTestFinished(() => bench.dispose())
  const clock = createFakeClock(at(2))
  const store = await openMemoryStore({ clock, deadLetterMaxBytes: 1_000 })
  const apiClock = createApiClock(clock)
  if (isSure) apiClock.learn('default', 0, {})
  const told: InternalEvent[] = []
  // Names of parts have the time of this clock, as those of a process that ships from this store.
  const sink = bench.sink({ retention }, { clock })
  const remove = createDayRemoval({
    source: { fetchPage: () => Promise.reject(new Error('nothing is to be read')) },
    store,
    clock,
    apiClock,
    telemetry: { emit: (internalEvent) => void told.push(internalEvent) },
    tracer: noTracer,
    policy,
    holder,
    random: Math.random,
    settings: () => ({
      zones: [1, 2].map((id) => ({ id, name: '', account: 'default' })),
      sinks: ['archive', 'siem'],
      policy,
    }),
    sinks: new Map([['archive', sink]]),
  })
  const folderOf = ({ zone, day }: Stream) => `${bench.path}/shield_zone=${zone}/day=${day}`
  return {
    store,
    clock,
    apiClock,
    told,
    remove,
    sink,
    has: (stream: Stream) => existsSync(folderOf(stream)),
    /** Ships three events; `checkpoint`: what the store has of the day, undefined where it has dropped that. */
    async add(daysAgo: number, checkpoint?: Partial<Checkpoint>, zone = 1): Promise<Stream> {
      const stream = { zone, day: shiftDay(today, -daysAgo), sink: 'archive' }
      const ledger = new StreamLedger(stream, store.id)
      await ledger.ship(sink, buildEvents(3))
      const { committed } = ledger.known()
      if (checkpoint !== undefined) await commitOnce(store, stream, { with: { committed, ...checkpoint } })
      return stream
    },
  }
}

test.each([
  ['a complete day', 1, { ended }],
  ['an expired day', 1, { ended: { as: 'expired', atMs: 5 } }],
  ['a day whose checkpoint was dropped', 1, undefined],
  ['a day of a zone that is no longer configured', 9, { ended }],
] as const)('removes %s', async (_, zone, checkpoint) => {
  const world = await setUp({ days: 20, maxBytes: null })
  const stream = await world.add(30, checkpoint, zone)
  await world.remove(never)
  expect(world.has(stream)).toBe(false)
  const { commit, ...left } = (await world.store.ledger.read(stream))!
  const removed = { days: 20, atMs: world.clock.now() }
  expect(left).toMatchObject({ removed, committed: [], ended: { as: expect.any(String) } })
  expect(world.told).toMatchObject([{ name: 'DayRemoved', stream, limit: { days: 20 } }])
  // A later turn has nothing to do.
  await world.clock.advance(3_600_000)
  await world.remove(never)
  expect((await world.store.ledger.read(stream))?.commit).toBe(commit)
  expect(world.told).toHaveLength(1)
})

test.each([
  ['today', 0, { ended }],
  ['a day that can be read', policy.readableDays - 1, { ended }],
  ['a day that became unreadable less than a day ago', policy.readableDays, { ended }],
  ['a day that has not ended', 30, {}],
] as const)('keeps %s, however large the sink is, and says so', async (_, daysAgo, checkpoint) => {
  const world = await setUp({ days: 1, maxBytes: 1 })
  const stream = await world.add(daysAgo, checkpoint)
  await world.remove(never)
  expect(world.has(stream)).toBe(true)
  expect((await world.store.ledger.read(stream))?.removed).toBeUndefined()
  expect(world.told).toMatchObject([{ name: 'RetentionExceeded', sink: 'archive' }])
})

test('keeps a day that a backfill of any sink waits for', async () => {
  const world = await setUp({ days: 1, maxBytes: null })
  const stream = await world.add(30, { ended })
  const streams = [{ stream: { ...stream, sink: 'siem' }, state: 'queued' } as const]
  const { day } = stream
  await world.store.backfills.add({ id: 'x', createdAtMs: 1, from: day, to: day, state: 'paused', streams })
  await world.remove(never)
  expect(world.has(stream)).toBe(true)
})

test('keeps a day while another sink is being shipped from it, and no longer', async () => {
  const world = await setUp({ days: 1, maxBytes: null })
  const stream = await world.add(30, { ended })
  const copy = { ...stream, sink: 'siem' }
  // A command that was killed has left its note: that keeps nothing.
  await commitOnce(world.store, copy, { with: { ended, archiveSinceMs: 1 } })
  const { fence } = await world.store.ledger.take(copy, { id: 'archive', schedule: false })
  await world.remove(never)
  expect(world.has(stream)).toBe(true)
  await world.store.ledger.release(copy, fence)
  await world.clock.advance(3_600_000)
  await world.remove(never)
  expect(world.has(stream)).toBe(false)
})

test('removes nothing by a time that is not sure, and tries again once it is', async () => {
  const world = await setUp({ days: 1, maxBytes: null }, { isSure: false })
  const stream = await world.add(30, { ended })
  await world.remove(never)
  expect(world.has(stream)).toBe(true)
  world.apiClock.learn('default', 0, {})
  await world.remove(never)
  expect(world.has(stream)).toBe(false)
})

test('finishes what was interrupted after the mark, and marks a day again that has new parts', async () => {
  const world = await setUp({ days: 20, maxBytes: null })
  const removed = { days: 10, atMs: world.clock.now() }
  const interrupted = await world.add(15, { ended, removed, committed: [] })
  const refilled = await world.add(25, { ended, removed }, 2)
  await world.remove(never)
  expect([interrupted, refilled].map(world.has)).toEqual([false, false])
  expect(await world.store.ledger.read(interrupted)).toMatchObject({ commit: 1, removed })
  const mark = { days: 20, atMs: world.clock.now() }
  expect(await world.store.ledger.read(refilled)).toMatchObject({ removed: mark, committed: [] })
})

test('a day that cannot be removed is told, and is in the way of no other', async () => {
  const world = await setUp({ days: 20, maxBytes: null })
  const streams = [await world.add(31, { ended }), await world.add(30, { ended })]
  const { retention } = world.sink
  const { remove } = retention!
  const failure = new Failure('stop', 'unwritable', 'cannot write: run chown')
  Object.assign(retention!, {
    remove: (...args: Parameters<typeof remove>) =>
      args[0].day === streams[0]!.day ? Promise.reject(failure) : remove(...args),
  })
  await world.remove(never)
  expect(streams.map(world.has)).toEqual([true, false])
  expect(world.told).toMatchObject([
    { name: 'DayRemoved' },
    { name: 'UpkeepFailed', task: 'retention', error: failure },
  ])
})

test('leaves a day to the next hour that another process holds', async () => {
  const world = await setUp({ days: 20, maxBytes: null })
  const stream = await world.add(30, { ended })
  const { fence } = await world.store.ledger.take(stream, { id: 'other', schedule: false })
  await world.remove(never)
  expect([world.has(stream), world.told]).toEqual([true, []])
  await world.store.ledger.release(stream, fence)
  await world.remove(never)
  expect(world.has(stream)).toBe(true)
  await world.clock.advance(3_600_000)
  await world.remove(never)
  expect(world.has(stream)).toBe(false)
})
