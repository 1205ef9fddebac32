import { describe, expect, it } from 'vitest'
import { Failure } from '../../src/domain/failure.ts'
import { LatestPages } from '../../src/pump/latest-pages.ts'
import { PageBudget } from '../../src/shield/client/page-budget.ts'
import { sharePages } from '../../src/shield/shared-pages.ts'
import { endOf } from '../../src/domain/day.ts'
import { stream } from '../domain/builders.ts'
import { withMemory } from './with-memory.ts'
import { createStage, eventAt, firstEvents, listingOf, whole, type Stage } from './stage.ts'

const sinks = ['a', 'b', 'c']

/** Pumps of several sinks over one zone and day, in one process. */
async function process(
  count = 3,
  budget = new PageBudget(1e9),
): Promise<Stage & { pumpAll(): Promise<void>; pumpOne(sink: string, more?: object): Promise<unknown> }> {
  const stage = await createStage()
  const { clock, plainSink, deps } = stage
  const source = sharePages(withMemory(deps.source, budget), { sinks: count, keptBytes: 1e7, clock })
  const shared = { source, latestPages: new LatestPages() }
  stage.script.load = {}
  const pumpOne = (sink: string, more: object = {}) =>
    stage.pump(
      { stream: { ...stream, sink }, sink: { ...plainSink, name: sink }, ...more },
      undefined,
      shared,
    )
  return {
    ...stage,
    held: () => budget.heldBytes,
    pumpOne,
    pumpAll: async () => void (await Promise.all(sinks.slice(0, count).map((sink) => pumpOne(sink)))),
  }
}

const checkpointOf = async ({ store }: Stage, sink: string) => (await store.ledger.read({ ...stream, sink }))!
const many = firstEvents(120)

/** Two of three sinks poll at their pace, and are caught up after each poll. */
async function othersPoll(
  all: Awaited<ReturnType<typeof process>>,
  polls: number,
  withinMs: number,
): Promise<void> {
  for (let poll = 0; poll < polls; poll++) {
    const beganMs = all.clock.now()
    await Promise.all([all.pumpOne('a'), all.pumpOne('b')])
    for (const sink of ['a', 'b'])
      expect((await checkpointOf(all, sink)).caughtUpAtMs).toBeGreaterThanOrEqual(beganMs - withinMs)
    await all.clock.advance(200_000)
  }
}

describe('three sinks on a zone', () => {
  it('ask the API as often as one, while they catch up and while they poll', async () => {
    const [one, three] = [await process(1), await process(3)]
    for (const each of [one, three]) {
      each.script.answer = listingOf(many, 4)
      await each.pumpAll()
      for (let polls = 0; polls < 20; polls++) {
        await each.clock.advance(200_000)
        await each.pumpAll()
      }
    }
    expect(three.requests()).toBeLessThanOrEqual(one.requests() * 1.1)
    for (const sink of sinks)
      expect(await checkpointOf(three, sink)).toMatchObject({ counters: { delivered: 120, deadLetters: 0 } })
    expect([one.held(), three.held()]).toEqual([0, 0])
  })

  it('have scans that began with the request of the page, whoever sent it', async () => {
    const all = await process()
    all.script.answer = listingOf(many, 40)
    await all.pumpAll()
    const scans = await Promise.all(sinks.map(async (sink) => (await checkpointOf(all, sink)).lastFull!))
    const { beganAtMs } = scans[0]!
    expect(scans).toMatchObject(sinks.map(() => ({ beganAtMs, tookMs: 300 })))
  })

  it('of which one hangs: the others poll at their pace, and their lag stays as it was', async () => {
    const all = await process()
    all.script.answer = listingOf(many, 40)
    await all.pumpAll()
    const open = Promise.withResolvers<void>()
    all.script.answer = listingOf([...many, eventAt(500)], 40)
    await all.clock.advance(200_000)
    const hanging = all.pump(
      { stream: { ...stream, sink: 'c' }, sink: hangingSink(all, open.promise) },
      undefined,
      {},
    )
    await othersPoll(all, 10, 5_000)
    open.resolve()
    await hanging
  })

  it('of which one has no room in memory for hours: the others poll at their pace, and it goes on once it has', async () => {
    const budget = new PageBudget(100)
    const all = await process(3, budget)
    all.script.answer = listingOf(many, 40)
    await all.pumpAll()
    const before = await checkpointOf(all, 'c')
    // Other streams of the sink hold its share.
    const held = await budget.reserve(() => 35, new AbortController().signal, 'c')
    await all.clock.advance(200_000)
    const waiting = all.pumpOne('c')
    await othersPoll(all, 60, 0)
    expect(await checkpointOf(all, 'c')).toEqual(before)
    held.release()
    await waiting
    await all.pumpOne('c')
    expect((await checkpointOf(all, 'c')).caughtUpAtMs).toBeGreaterThan(before.caughtUpAtMs!)
  })

  it('of which one fails do not wait for it, nor it for them', async () => {
    const all = await process()
    all.script.answer = listingOf(many, 40)
    let failing = 1
    all.script.deliver = async () => {
      if (failing-- > 0) throw new Failure('retry', 'server_error', '503')
      return whole
    }
    await all.pumpAll()
    const delivered = await Promise.all(
      sinks.map(async (sink) => (await checkpointOf(all, sink)).counters.delivered),
    )
    expect(delivered.toSorted((left, right) => left - right)).toEqual([0, 120, 120])
  })
})

function hangingSink({ plainSink }: Stage, until: Promise<void>): Stage['plainSink'] {
  return {
    ...plainSink,
    name: 'c',
    async open(...given) {
      const open = await plainSink.open(...given)
      return {
        ...open,
        async deliver(...events) {
          await until
          return open.deliver(...events)
        },
      }
    },
  }
}

describe('an answer of the API that several sinks share', () => {
  it('confirms no time that only it names', async () => {
    const all = await process()
    const wrongMs = 5 * 86_400_000
    all.script.answer = () => ({ events: [], clockOffsetMs: wrongMs, connection: {} })
    await all.pumpAll()
    expect(all.requests()).toBe(1)
    expect(all.apiClock.isConfirmed('default')).toBe(false)
  })

  it('serves a scan that became due at an instant only if it was requested later', async () => {
    const all = await process()
    all.script.answer = listingOf(many, 200)
    const pointMs = endOf(stream.day) + all.deps.policy.settleAfterMs[0]!
    await all.clock.advance(pointMs - 500 - all.clock.now())
    await all.pumpOne('a')
    const before = all.requests()
    await all.clock.advance(1_000)
    await all.pumpOne('b')
    await all.pumpOne('a')
    expect(all.requests()).toBe(before + 1)
    for (const sink of ['a', 'b'])
      expect((await checkpointOf(all, sink)).lastFull!.beganAtMs).toBeGreaterThanOrEqual(pointMs)
  })

  it('is never older than the page before it: in a list that shifts, events would be on neither', async () => {
    const all = await process()
    all.script.answer = listingOf(many, 40)
    await all.pumpOne('a')
    await all.clock.advance(6_000)
    // Its first page is a new one, so that the others that are kept are older.
    await all.pumpOne('b')
    expect(all.requests()).toBe(6)
    await all.pumpOne('c')
    expect(all.requests()).toBe(6)
  })

  it('serves no later page once another process has gone on with the stream: what that one read is not known', async () => {
    const all = await process()
    all.script.answer = listingOf(many, 40)
    await all.pumpOne('a')
    const own = { stream: { ...stream, sink: 'b' }, sink: { ...all.plainSink, name: 'b' } }
    await all.pumpOne('b', { mayGoOn: () => false })
    expect(all.requests()).toBe(3)
    await all.pump({ ...own, mayGoOn: () => false }, undefined, { holder: { id: 'other', schedule: true } })
    expect(all.requests()).toBe(4)
    await all.pumpOne('b')
    expect(all.requests()).toBe(5)
    expect(await checkpointOf(all, 'b')).toMatchObject({ lastFull: { pages: 3 } })
  })
})
