import { describe, expect, it } from 'vitest'
import { Failure, gaveWay } from '../../src/domain/failure.ts'
import { at } from '../domain/builders.ts'
import { createStage, eventAt, listingOf, type Stage } from './stage.ts'

const events = Array.from({ length: 40 }, (_, index) => eventAt(index))

/** A day of 20 pages that is due to be read again. */
async function shipped(): Promise<Stage> {
  const stage = await createStage()
  stage.script.answer = listingOf(events, 2)
  await stage.pump()
  await stage.clock.advance(3_600_000)
  stage.log.length = 0
  return stage
}

const commitsOf = ({ log }: Stage) => log.filter((line) => line.startsWith('commit')).length

describe('pages on which nothing is new', () => {
  it('are committed at most once a second, and when their scan ends', async () => {
    const stage = await shipped()
    stage.script.latencyMs = 300
    await stage.pump()
    // 20 requests take 6 s.
    expect(commitsOf(stage)).toBeGreaterThanOrEqual(4)
    expect(commitsOf(stage)).toBeLessThanOrEqual(7)
    const committed = stage.internalEvents.filter(({ name }) => name === 'PageCommitted').slice(20)
    expect(committed).toHaveLength(20)
    expect(committed.filter((page) => 'commitSeconds' in page)).toHaveLength(commitsOf(stage))
    expect(await stage.read()).toMatchObject({
      counters: { pages: 40, events: 80, delivered: 40, duplicates: 40 },
      lastFull: { pages: 20 },
    })
  })

  it('are committed with the next page that has something new, and by it only once', async () => {
    const stage = await shipped()
    stage.script.latencyMs = 1
    stage.script.answer = listingOf([...events, eventAt(40)], 2)
    await stage.pump()
    expect(stage.log.slice(-3)).toEqual(['deliver e40', expect.stringMatching(/^commit/), 'close'])
    expect(commitsOf(stage)).toBe(1)
    expect(await stage.read()).toMatchObject({ counters: { delivered: 41, duplicates: 40 } })
  })

  it('are committed when the time slice ends, so that the next pump goes on after them', async () => {
    const stage = await shipped()
    stage.script.latencyMs = 1
    let pages = 0
    await stage.pump({ mayGoOn: () => ++pages < 5 })
    const { full } = (await stage.read())!
    expect(full!.pages).toBeGreaterThan(0)
    expect(stage.log.filter((line) => line.startsWith('commit'))).toHaveLength(1)
    await stage.pump()
    expect(await stage.read()).toMatchObject({ lastFull: { pages: 20 } })
  })

  it('are committed with the failure that follows them', async () => {
    const stage = await shipped()
    stage.script.latencyMs = 1
    const listing = listingOf(events, 2)
    stage.script.answer = (request, number) =>
      request.cursor === '6' ? new Failure('retry', 'network', 'no route') : listing(request, number)
    expect(await stage.pump()).toMatchObject({ code: 'network' })
    expect(await stage.read()).toMatchObject({ full: { pages: 3, cursor: '6' }, trouble: { count: 1 } })
  })

  it('are committed with the end of their day', async () => {
    const stage = await shipped()
    await stage.clock.advance(at(72) + 1_000 - stage.clock.now())
    stage.script.latencyMs = 1
    const listing = listingOf(events, 2)
    const serverDate = stage.clock.now()
    stage.script.answer = (request, number) =>
      request.cursor === '6'
        ? new Failure('refuse', 'window_closed', 'the day is over', { serverDate })
        : listing(request, number)
    await stage.pump()
    expect(commitsOf(stage)).toBe(1)
    expect(await stage.read()).toMatchObject({ ended: { as: 'expired' }, counters: { pages: 23 } })
  })

  it('are committed before a backfill gives way, which may read a single page before it does so again', async () => {
    const stage = await shipped()
    stage.script.latencyMs = 1
    const listing = listingOf(events, 2)
    stage.script.answer = (request, number) =>
      number % 2 === 0 ? gaveWay('default') : listing(request, number)
    const backfill = { priority: 'backfill', readRequest: { id: 'r1' } } as const
    for (const pages of [1, 2, 3]) {
      await expect(stage.pump(backfill)).rejects.toMatchObject({ code: 'gave_way' })
      expect(await stage.read()).toMatchObject({ full: { pages } })
    }
  })

  it('are committed one by one while the stream recovers', async () => {
    const stage = await shipped()
    stage.script.latencyMs = 1
    const listing = listingOf(events, 2)
    stage.script.answer = () => new Failure('retry', 'network', 'no route')
    await stage.pump()
    await stage.clock.advance(3_600_000)
    stage.script.answer = listing
    const before = commitsOf(stage)
    await stage.pump()
    const recovered = stage.internalEvents.filter(({ name }) => name === 'StreamRecovered')
    expect(recovered).toMatchObject([{ seconds: expect.closeTo(3_600, -2) }])
    expect(commitsOf(stage)).toBeGreaterThan(before + 1)
  })

  it('are read again after a crash, without a second delivery', async () => {
    const stage = await shipped()
    stage.script.latencyMs = 1
    const listing = listingOf(events, 2)
    stage.script.answer = (request, number) =>
      request.cursor === '10' ? new TypeError('a bug') : listing(request, number)
    await expect(stage.pump()).rejects.toThrow('a bug')
    expect(commitsOf(stage)).toBe(0)
    stage.script.answer = listing
    await stage.pump()
    expect(stage.delivered).toHaveLength(events.length)
    expect(await stage.read()).toMatchObject({ lastFull: { pages: 20 } })
  })
})
