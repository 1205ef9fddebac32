import { expect, onTestFinished, test } from 'vitest'
import { Failure } from '../../src/domain/failure.ts'
import type { Notice, NoticedProblem } from '../../src/domain/notices.ts'
import { keepNotified } from '../../src/upkeep/notices.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'
import { openMemoryStore } from '../setup/stores.ts'
import { keepInternalEvents } from '../sinks/internal-events.ts'

const minute = 60_000
const day = 24 * 60 * minute
const failing: NoticedProblem = {
  kind: 'failing',
  text: '3 zones → siem fail: 503.',
  remedy: 'shieldlog tries again by itself.',
  sink: 'siem',
  lastError: { kind: 'retry', code: 'server_error', message: '503', at: '', since: '', count: 3 } as never,
}
const gap: NoticedProblem = {
  kind: 'gap',
  text: 'Events were lost.',
  remedy: 'gaps list',
  reason: 'unreadable',
}

/** A loop over problems that the test sets; places refuse while the test says so. */
async function setUp(places: readonly string[] = ['ops']) {
  const clock = createFakeClock()
  const store = await openMemoryStore({ clock, deadLetterMaxBytes: 1_000_000 })
  const { telemetry, internalEvents } = keepInternalEvents()
  const world = { problems: [] as NoticedProblem[], refuses: false, leads: true, isFull: false }
  const { storeNoticed } = store.catalogue
  store.catalogue.storeNoticed = async (...noticed) => {
    if (world.isFull) throw new Failure('retry', 'disk_full', 'the disk of the state is full')
    return storeNoticed(...noticed)
  }
  const told: string[] = []
  const start = () => {
    const stopped = new AbortController()
    const running = keepNotified(
      {
        clock,
        telemetry,
        store,
        leads: async () => world.leads,
        problems: async () => world.problems,
        places,
        async post(place: string, { status, text }: Notice, signal: AbortSignal) {
          if (place === 'hung') await clock.sleep(365 * day, signal)
          if (world.refuses) throw new Failure('retry', 'network', 'notify ops: connection refused')
          told.push(`${place} ${status}: ${text}`)
        },
      },
      stopped.signal,
    )
    const stop = async () => {
      stopped.abort()
      await running
    }
    onTestFinished(stop)
    return stop
  }
  /** What was told in that time. */
  const after = async (ms: number) => {
    for (let left = ms; left > 0; left -= minute) await clock.advance(Math.min(minute, left))
    return told.splice(0)
  }
  return { world, start, after, internalEvents, clock, store }
}

test('a failure that lasts five minutes is told once, then daily, and its end once it stays away', async () => {
  const { world, start, after } = await setUp()
  world.problems = [failing]
  start()
  expect(await after(4 * minute)).toEqual([])
  expect(await after(2 * minute)).toEqual(['ops begins: 3 zones → siem fail: 503.'])
  expect(await after(day - 10 * minute)).toEqual([])
  expect(await after(20 * minute)).toEqual(['ops lasts: 3 zones → siem fail: 503.'])
  world.problems = []
  expect(await after(4 * minute)).toEqual([])
  world.problems = [failing]
  expect(await after(10 * minute)).toEqual([])
  world.problems = []
  expect(await after(10 * minute)).toEqual(['ops over: 3 zones → siem fail: 503.'])
})

test('what passes by itself within five minutes is not told; what is lost is told at once', async () => {
  const { world, start, after } = await setUp()
  world.problems = [failing, gap]
  start()
  expect(await after(2 * minute)).toEqual(['ops begins: Events were lost.'])
  world.problems = [gap]
  expect(await after(20 * minute)).toEqual([])
})

test('the end of what a person has ended is told at once: dead letters that were replayed, an acknowledged gap', async () => {
  const { world, start, after } = await setUp()
  const letters = {
    kind: 'dead_letters',
    text: '19 dead letters in siem.',
    remedy: '',
    sink: 'siem',
  } as const
  world.problems = [gap, letters]
  start()
  expect(await after(minute)).toHaveLength(2)
  world.problems = [gap]
  expect(await after(minute)).toEqual(['ops over: 19 dead letters in siem.'])
  world.problems = []
  expect(await after(minute)).toEqual(['ops over: Events were lost.'])
  // A sink that was held until somebody said what became of it.
  const at = '2026-11-20T12:00:00.000Z'
  const lastError = { code: 'held', message: '', failures: 1, since: at, retryAt: at }
  world.problems = [{ ...failing, text: 'Held.', lastError }]
  expect(await after(6 * minute)).toEqual(['ops begins: Held.'])
  world.problems = []
  expect(await after(minute)).toEqual(['ops over: Held.'])
})

test('more events that are lost are told within an hour, of whatever sink: it is the same problem', async () => {
  const { world, start, after } = await setUp()
  world.problems = [{ ...gap, sink: 'siem' }]
  start()
  expect(await after(minute)).toEqual(['ops begins: Events were lost.'])
  world.problems = [{ ...gap, text: 'Events of 2 sinks were lost.' }]
  expect(await after(50 * minute)).toEqual([])
  expect(await after(20 * minute)).toEqual(['ops lasts: Events of 2 sinks were lost.'])
  expect(await after(12 * 60 * minute)).toEqual([])
})

test('events that may be lost within twelve hours are told, whatever is told of their failure', async () => {
  const { world, start, after } = await setUp()
  world.problems = [{ ...failing, apiDeadlineAt: '2026-11-21T00:30:00.000Z' }]
  start()
  expect(await after(20 * minute)).toHaveLength(1)
  expect(await after(60 * minute)).toEqual([
    'ops begins: Events that are not shipped by 2026-11-21T00:30:00.000Z are lost. 3 zones → siem fail: 503.',
  ])
})

test('a restart tells nothing again; what a place refused is told later, beginnings and ends', async () => {
  const { world, start, after, internalEvents } = await setUp()
  world.problems = [gap]
  const stop = start()
  expect(await after(minute)).toHaveLength(1)
  await stop()
  start()
  expect(await after(10 * minute)).toEqual([])
  Object.assign(world, { problems: [], refuses: true })
  expect(await after(10 * minute)).toEqual([])
  expect(internalEvents.map(({ name }) => name)).toContain('NoticeFailed')
  world.refuses = false
  expect(await after(minute)).toEqual(['ops over: Events were lost.'])
})

test('a place that does not answer keeps no other from being told', async () => {
  const { world, start, after } = await setUp(['hung', 'ops'])
  world.problems = [gap]
  start()
  expect(await after(minute)).toEqual(['ops begins: Events were lost.'])
})

test('of several processes only the one that leads tells', async () => {
  const { world, start, after } = await setUp()
  Object.assign(world, { problems: [gap], leads: false })
  start()
  expect(await after(10 * minute)).toEqual([])
})

test('of two processes that both believe that they lead, one message is repeated at most', async () => {
  const { world, start, after, store } = await setUp()
  const { noticed } = store.catalogue
  const asBefore = await noticed()
  world.problems = [gap]
  start()
  expect(await after(minute)).toHaveLength(1)
  // The second one has read what was stored before that.
  let isFirst = true
  store.catalogue.noticed = async () => (isFirst ? ((isFirst = false), asBefore) : noticed())
  world.problems = [gap, { ...gap, reason: 'zone_gone', text: 'A zone is gone.' }]
  start()
  expect((await after(10 * minute)).toSorted()).toEqual([
    'ops begins: A zone is gone.',
    'ops begins: Events were lost.',
  ])
})

test('while the store takes nothing, each problem is still told once', async () => {
  const { world, start, after } = await setUp()
  Object.assign(world, { problems: [gap], isFull: true })
  start()
  expect(await after(30 * minute)).toEqual(['ops begins: Events were lost.'])
  Object.assign(world, { problems: [], isFull: false })
  expect(await after(30 * minute)).toEqual(['ops over: Events were lost.'])
})

test('errors of one sink and code in other words are one message, however many there are', async () => {
  const { world, start, after } = await setUp()
  world.problems = Array.from({ length: 30 }, (_, zone) => ({ ...failing, text: `${zone} → siem fails.` }))
  start()
  expect(await after(60 * minute)).toEqual([
    'ops begins: 0 → siem fails. And 29 more like it: see shieldlog status.',
  ])
})

test('what was noted while a clock ran ahead does not delay what is told', async () => {
  const { world, start, after, clock, store } = await setUp()
  const aheadMs = clock.now() + 30 * day
  const known = [
    { key: 'gap//unreadable', text: 'Old.', sinceMs: aheadMs, stoodAtMs: aheadMs, toldAtMs: aheadMs },
    { key: 'failing/siem/server_error', text: 'Old.', sinceMs: aheadMs, stoodAtMs: aheadMs },
  ]
  await store.catalogue.storeNoticed({ place: 'ops', known }, { place: 'ops', known: [] })
  world.problems = [failing]
  start()
  expect(await after(10 * minute)).toEqual(['ops over: Old.', `ops begins: ${failing.text}`])
})
