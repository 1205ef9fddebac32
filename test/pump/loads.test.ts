import { describe, expect, it } from 'vitest'
import { Failure, noRoom } from '../../src/domain/failure.ts'
import type { Source } from '../../src/ports/delivery.ts'
import { at } from '../domain/builders.ts'
import {
  createStage,
  eventAt,
  firstEvents,
  idsOf,
  listingOf,
  whole,
  type Instead,
  type Stage,
} from './stage.ts'

const events = firstEvents(40)

/** A day of 20 pages that is due to be read again. */
async function shipped(): Promise<Stage> {
  const stage = await createStage()
  stage.script.answer = listingOf(events, 2)
  await stage.pump()
  await stage.clock.advance(3_600_000)
  stage.script.load = {}
  stage.log.length = 0
  return stage
}

const commitsOf = (stage: Stage) => stage.steps('commit').length

/** Bodies of two events: a sink that keeps back an event that fills none, if it has sent a body before it. */
function inBodies(stage: Stage): string[] {
  const bodies: string[] = []
  stage.script.deliver = async (some, _signal, goesOn) => {
    const ids = some.map(({ id }) => id)
    const taken = goesOn === true && some.length > 2 ? some.length - (some.length % 2) : some.length
    for (let at = 0; at < taken; at += 2) bodies.push(ids.slice(at, Math.min(at + 2, taken)).join(' '))
    return taken === some.length ? whole : { ...whole, partial: { taken: some.slice(0, taken) } }
  }
  return bodies
}

async function unread(size: number, load: Stage['script']['load']): Promise<Stage> {
  const stage = await createStage()
  stage.script.answer = listingOf(events.slice(0, 12), size)
  stage.script.load = load
  stage.script.latencyMs = 1
  return stage
}

describe('a load', () => {
  it('is one delivery and one commit of consecutive pages', async () => {
    const stage = await unread(3, {})
    await stage.pump()
    expect(stage.log.filter((line) => !line.startsWith('fetch'))).toEqual([
      'open',
      `deliver ${idsOf(0, 12).join(' ')}`,
      'commit 1',
      'close',
    ])
    expect(await stage.read()).toMatchObject({
      counters: { pages: 4, delivered: 12 },
      lastFull: { pages: 4 },
    })
    expect(stage.held()).toBe(0)
  })

  it.each([
    { load: { pages: 3 }, sizes: [6, 6] },
    { load: { events: 5 }, sizes: [6, 6] },
    // Each page of the stage has 10 bytes.
    { load: { bytes: 31 }, sizes: [8, 4] },
  ])('ends with the page that reaches its bound: $load', async ({ load, sizes }) => {
    const stage = await unread(2, load)
    await stage.pump()
    expect(stage.steps('deliver').map((line) => line.split(' ').length - 1)).toEqual(sizes)
    expect(commitsOf(stage)).toBe(2)
  })

  it('is dropped where the pump is stopped while it is read', async () => {
    const stage = await unread(3, {})
    const stop = new AbortController()
    stage.script.answer = listingOf(events, 3, (_, number) => {
      if (number === 3) stop.abort()
      return undefined
    })
    await expect(stage.pump({}, stop.signal)).rejects.toMatchObject({ kind: 'cancelled' })
    expect([stage.ids(), await stage.read(), stage.held()]).toEqual([[], undefined, 0])
  })

  it('ends where memory has no room for its next page, which is waited for after its delivery', async () => {
    const stage = await unread(3, {})
    const waits: string[] = []
    const { source } = stage.deps
    const scarce: Source = {
      fetchPage(request, signal) {
        waits.push(`${request.cursor ?? 'first'}${request.ifRoom === true ? ' if there is room' : ''}`)
        return request.ifRoom === true ? Promise.reject(noRoom()) : source.fetchPage(request, signal)
      },
    }
    await stage.pump({}, undefined, { source: scarce })
    expect(stage.ids()).toEqual(idsOf(0, 12))
    expect(commitsOf(stage)).toBe(4)
    expect(waits.slice(0, 3)).toEqual(['first', '3 if there is room', '3'])
    expect(stage.held()).toBe(0)
  })
})

describe('a load of a sink that sends bodies', () => {
  it('keeps back what fills no body, for the next load, and sends all at the end of the scan', async () => {
    const stage = await unread(3, { pages: 1 })
    stage.script.answer = listingOf(events.slice(0, 11), 3)
    const bodies = inBodies(stage)
    await stage.pump()
    expect(bodies).toEqual(['e0 e1', 'e2 e3', 'e4 e5', 'e6 e7', 'e8 e9', 'e10'])
    expect(stage.requests()).toBe(4)
    expect(await stage.read()).toMatchObject({
      counters: { pages: 4, events: 11, delivered: 11, duplicates: 0 },
      lastFull: { found: 11, pages: 4 },
    })
    expect(stage.held()).toBe(0)
  })

  it('leaves the page of a body that is not full to the next pump when the time slice ends', async () => {
    const stage = await unread(3, {})
    const bodies = inBodies(stage)
    let pages = 0
    await stage.pump({ mayGoOn: () => ++pages < 3 })
    expect(await stage.read()).toMatchObject({ full: { cursor: '6', pages: 2 }, counters: { delivered: 8 } })
    await stage.pump()
    expect(bodies).toEqual(['e0 e1', 'e2 e3', 'e4 e5', 'e6 e7', 'e8 e9', 'e10 e11'])
  })

  it.each(['cursor_expired', 'window_closed', 'page_too_large'] as const)(
    'sends all before %s, after which its scan does not go on',
    async (code) => {
      const stage = await unread(3, {})
      const bodies = inBodies(stage)
      const instead: Instead = (_, number) => (number === 2 ? new Failure('retry', code, 'x') : undefined)
      stage.script.answer = listingOf(events.slice(0, 12), 3, instead)
      await stage.pump()
      expect(bodies.slice(0, 2)).toEqual(['e0 e1', 'e2'])
    },
  )

  it('sends all before another scan of the stream takes its turn', async () => {
    const stage = await createStage()
    stage.script.latencyMs = 1
    stage.script.answer = listingOf(events.slice(0, 12), 3)
    await stage.pump()
    // The full scan that is due reads one page; then the poll is due again, which ends it.
    stage.script.load = {}
    const bodies = inBodies(stage)
    for (let hours = 0; hours < 6; hours++) {
      stage.script.answer = listingOf(events.slice(0, 13 + hours * 3), 3)
      await stage.clock.advance(3_600_000)
      await stage.pump()
    }
    expect(bodies.flatMap((body) => body.split(' ')).toSorted()).toEqual(idsOf(12, 28).toSorted())
  })
})

describe('a load without anything new', () => {
  it('is committed at least once a second, and when its scan ends', async () => {
    const stage = await shipped()
    stage.script.latencyMs = 300
    await stage.pump()
    // 20 requests take 6 s.
    expect(commitsOf(stage)).toBeGreaterThanOrEqual(4)
    expect(commitsOf(stage)).toBeLessThanOrEqual(7)
    const committed = stage.internalEvents.filter(({ name }) => name === 'LoadCommitted').slice(20)
    expect(committed).toHaveLength(commitsOf(stage))
    expect(await stage.read()).toMatchObject({
      counters: { pages: 40, events: 80, delivered: 40, duplicates: 40 },
      lastFull: { pages: 20 },
    })
  })

  it('is committed with the next page that has something new, and by it only once', async () => {
    const stage = await shipped()
    stage.script.latencyMs = 1
    stage.script.answer = listingOf([...events, eventAt(40)], 2)
    await stage.pump()
    expect(stage.log.slice(-3)).toEqual(['deliver e40', expect.stringMatching(/^commit/), 'close'])
    expect(commitsOf(stage)).toBe(1)
    expect(await stage.read()).toMatchObject({ counters: { delivered: 41, duplicates: 40 } })
  })

  it.each<[what: string, why: Error, holds: object]>([
    [
      'the failure that follows it',
      new Failure('retry', 'network', 'no route'),
      { full: { pages: 3, cursor: '6' }, trouble: { count: 1 } },
    ],
    [
      'the end of its day',
      new Failure('refuse', 'window_closed', 'the day is over', { serverDate: at(72) + 1_000 }),
      { ended: { as: 'expired' }, counters: { pages: 23 } },
    ],
  ])('is committed before %s', async (_, why, holds) => {
    const stage = await shipped()
    await stage.clock.advance(at(72) + 1_000 - stage.clock.now())
    stage.script.latencyMs = 1
    stage.script.answer = listingOf(events, 2, ({ cursor }) => (cursor === '6' ? why : undefined))
    await stage.pump()
    expect(await stage.read()).toMatchObject(holds)
  })

  it('is committed before a backfill gives way, which may read a single page before it does so again', async () => {
    const stage = await shipped()
    stage.script.latencyMs = 1
    stage.script.answer = listingOf(events, 2, (_, number) =>
      number % 2 === 0 ? new Failure('cancelled', 'gave_way', 'live first') : undefined,
    )
    const backfill = { priority: 'backfill', readRequest: { id: 'r1' } } as const
    for (const pages of [1, 2, 3]) {
      await expect(stage.pump(backfill)).rejects.toMatchObject({ code: 'gave_way' })
      expect(await stage.read()).toMatchObject({ full: { pages } })
    }
  })
})
