import { describe, expect, it } from 'vitest'
import { Failure } from '../../src/domain/failure.ts'
import { shiftDay } from '../../src/domain/day.ts'
import { unknownOrdering } from '../../src/domain/scan/ordering.ts'
import { failStream } from '../../src/pump/end-stream.ts'
import { at, stream } from '../domain/builders.ts'
import { createStage, eventAt, events, firstEvents, listingOf, staged, zone } from './stage.ts'

const outside = (serverDate?: number) =>
  new Failure('refuse', 'window_closed', 'outside', serverDate === undefined ? {} : { serverDate })

describe('an answer that the day is outside the window', () => {
  it.each([
    { serverDate: at(5), offsetMs: at(5) - at(2) },
    { serverDate: undefined, offsetMs: 0 },
  ])(
    'is a failed poll if its clock disagrees or is missing: $serverDate',
    async ({ serverDate, offsetMs }) => {
      const stage = await staged()
      stage.script.answer = () => outside(serverDate)
      expect(await stage.pump()).toMatchObject({ code: 'window_closed' })
      expect(await stage.read()).toMatchObject({ trouble: { code: 'window_closed', count: 1 } })
      expect(await stage.store.catalogue.gaps()).toEqual([])
      // The next polls go by the clock of that answer.
      expect(Math.abs(stage.apiClock.offsetOf('default') - offsetMs)).toBeLessThan(1_000)
    },
  )

  it('ends the stream if the clock agrees, and leaves a gap from the last scan on', async () => {
    const stage = await staged()
    await stage.pump()
    stage.script.answer = () => outside(at(72) + 5_000)
    await stage.clock.advance(at(72) - stage.clock.now())
    await stage.pump()
    expect(await stage.read()).toMatchObject({ ended: { as: 'expired' } })
    expect(await stage.store.catalogue.gaps()).toMatchObject([
      { from: at(2), to: at(24), reason: 'unreadable' },
    ])
    expect(stage.names()).toContain('GapFound')
  })

  it.each([
    ['before the first day of its route, where no page of it was read', 1, false, 0],
    ['before that day, of which a page was read', 1, true, 1],
    ['that is the first one of its route', 0, false, 1],
    ['of a route that was never planned', undefined, false, 0],
  ])('ends a day %s', async (_, firstDayAfter, isRead, gaps) => {
    const stage = await staged()
    if (isRead) await stage.pump()
    if (firstDayAfter !== undefined) {
      const { zone, sink, day } = stream
      const route = { zone, sink, firstDay: shiftDay(day, firstDayAfter), plannedAtMs: at(1) }
      await stage.store.catalogue.rememberRoutes([route])
    }
    stage.script.answer = () => outside(stage.clock.now())
    await stage.clock.advance(at(72) - stage.clock.now())
    for (let pump = 0; pump < 3; pump++) await stage.pump()
    expect(await stage.read()).toMatchObject({ ended: { as: 'expired' } })
    expect(await stage.store.catalogue.gaps()).toHaveLength(gaps)
  })
})

it('a day that ends while a load holds undelivered events: they are delivered before the stream ends', async () => {
  const stage = await staged()
  stage.script.load = {}
  stage.script.answer = listingOf(firstEvents(6), 2, (_, number) => {
    return number === 3 ? outside(stage.clock.now()) : undefined
  })
  // Its first two pages are read just before the day is no longer listed.
  await stage.clock.advance(at(72) - 200 - stage.clock.now())
  await stage.pump()
  expect(stage.steps('deliver')).toEqual(['deliver e0 e1 e2 e3'])
  expect(await stage.read()).toMatchObject({ ended: { as: 'expired' }, counters: { delivered: 4 } })
  expect(await stage.store.catalogue.gaps()).toMatchObject([{ from: at(0), to: at(24) }])
})

describe('a day that ended long ago', () => {
  it('ends without a request once the API has answered with its time, and not before', async () => {
    const stage = await staged()
    await stage.clock.advance(at(24 * 9) - stage.clock.now())
    stage.script.answer = () => new Failure('retry', 'network', 'x')
    await stage.pump()
    expect(await stage.read()).toMatchObject({ trouble: { code: 'network' } })
    stage.apiClock.learn('default', 0, {})
    const before = stage.requests()
    await stage.pump()
    expect(stage.requests()).toBe(before)
    expect(await stage.read()).toMatchObject({ ended: { as: 'expired' } })
  })

  it('is still requested if only one of the two clocks says that it ended', async () => {
    const stage = await staged()
    stage.apiClock.learn('default', 9 * 86_400_000, {})
    await stage.pump()
    expect(stage.requests()).toBeGreaterThan(0)
    expect((await stage.read())?.ended).toBeUndefined()
  })
})

describe('a cursor that has expired', () => {
  const expired = () => new Failure('retry', 'cursor_expired', 'gone')

  it('doubles the slice until a scan that takes longer than a cursor lives fits into one pump', async () => {
    const stage = await createStage()
    let issuedAtMs = 0
    stage.script.latencyMs = 1_000
    stage.script.answer = listingOf(firstEvents(60), 1, ({ cursor }) => {
      const age = stage.clock.now() - issuedAtMs
      issuedAtMs = stage.clock.now()
      return cursor !== null && age > 5_000 ? expired() : undefined
    })
    for (let pumps = 0; pumps < 12 && (await stage.read())?.lastFull === undefined; pumps++) {
      await stage.pump()
      await stage.clock.advance(60_000)
    }
    expect(await stage.read()).toMatchObject({ lastFull: { pages: 60 }, restarts: 0 })
    expect(stage.delivered).toHaveLength(60)
  })

  it('is no failure if it was stored: the next scan is full, at the usual pace', async () => {
    const stage = await staged()
    const long = Array.from({ length: 30 }, (_, index) => eventAt(index, at(0) + index * 200_000))
    const ordering = { order: 'oldest-first', cursorProven: true, revocations: 0 } as const
    stage.script.answer = listingOf(long, 2)
    for (let pumps = 0; pumps < 3; pumps++) {
      await stage.pump({ ordering })
      await stage.clock.advance(30_000)
    }
    const before = (await stage.read())!
    // Of 15 pages.
    expect(before.lastIncremental!.pages).toBeLessThanOrEqual(4)
    let times = 0
    stage.script.answer = listingOf(long, 2, () => (times++ === 0 ? expired() : undefined))
    expect(await stage.pump()).toBeUndefined()
    const told = expect.objectContaining({ name: 'CursorExpired', stored: true, restarts: 0 })
    expect(stage.internalEvents).toContainEqual(told)
    const after = (await stage.read())!
    expect(after).toMatchObject({ restarts: 0, needsFull: false, ordering: { order: 'oldest-first' } })
    expect(after.trouble).toBeUndefined()
    expect(after.lastFull!.beganAtMs).toBeGreaterThan(before.lastFull!.beganAtMs)
    expect(after.lastFull!.pages).toBe(15)
  })
})

describe('a listing that does not end', () => {
  it('is stopped by its guard, logged, and tried again with growing waits up to an hour', async () => {
    const stage = await staged()
    stage.script.answer = () => ({ events, next: 'same' })
    const waits: number[] = []
    for (let times = 0; times < 12; times++) {
      expect(await stage.pump()).toMatchObject({ code: 'scan_guarded' })
      const { trouble } = (await stage.read())!
      waits.push(trouble!.retryAtMs - stage.clock.now())
      await stage.clock.advance(waits.at(-1)!)
    }
    expect(waits[0]).toBeLessThanOrEqual(30_000)
    expect(waits.at(-1)).toBeGreaterThan(1_800_000)
    expect(Math.max(...waits)).toBeLessThanOrEqual(3_600_000)
    expect(stage.names().filter((name) => name === 'ScanGuarded')).toHaveLength(12)
    // What stood on its pages is shipped all the same.
    expect(stage.delivered).toHaveLength(6)
    stage.script.answer = listingOf(events, 2)
    await stage.pump()
    expect((await stage.read())?.trouble).toBeUndefined()
  })
})

describe('a failure that the pump could not record', () => {
  it('makes the stream back off, longer each time, and is logged', async () => {
    const stage = await createStage()
    stage.script.answer = listingOf([eventAt(0)], 1)
    const job = { stream, zone, priority: 'live', ordering: unknownOrdering, mayGoOn: () => false } as const
    const crashed = new Failure('refuse', 'crashed', 'its processes died')
    const waits: number[] = []
    for (let times = 0; times < 3; times++) {
      await failStream(job, stage.deps, crashed)
      waits.push((await stage.read())!.trouble!.retryAtMs - stage.clock.now())
    }
    expect(waits).toEqual([22_500, 45_000, 90_000])
    expect((await stage.read())?.trouble).toMatchObject({ code: 'crashed', count: 3 })
    expect(stage.internalEvents.map(({ name }) => name)).toEqual(Array(3).fill('StreamFailed'))
    // A page that goes through ends it.
    await stage.clock.advance(100_000)
    await stage.pump()
    expect((await stage.read())?.trouble).toBeUndefined()
  })
})

it('an entry that is listed under two days is shipped once for each', async () => {
  const stage = await createStage()
  stage.script.answer = listingOf([eventAt(1), eventAt(2)], 10)
  const yesterday = { ...stream, day: shiftDay(stream.day, -1) }
  for (let turn = 0; turn < 2; turn++) {
    await stage.pump()
    await stage.pump({ stream: yesterday })
    await stage.clock.advance(3_600_000)
  }
  expect(stage.requests()).toBeGreaterThan(2)
  expect(stage.ids()).toEqual(['e1', 'e2', 'e1', 'e2'])
})
