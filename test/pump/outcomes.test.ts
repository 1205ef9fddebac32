import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Delivery, Skip } from '../../src/domain/event/delivery.ts'
import type { Event } from '../../src/domain/event/event.ts'
import { cancelled, Failure } from '../../src/domain/failure.ts'
import { shipArchived } from '../../src/tasks/backfill/ship-archived.ts'
import { replayDeadLetters } from '../../src/tasks/dead-letters/replay.ts'
import { dayAt, stream } from '../domain/builders.ts'
import { failureOf, serve, ship } from '../sinks/http/destination-server.ts'
import {
  createStage,
  events,
  firstEvents,
  idsOf,
  listingOf,
  replayOver,
  refusalsOf,
  whole,
  zone,
  type Instead,
  type Stage,
} from './stage.ts'

const never = new AbortController().signal
const failure = new Failure('retry', 'server_error', '503')
const numberOf = ({ id }: Event) => Number(id.slice(1))
const isEven = (event: Event) => numberOf(event) % 2 === 0
/** More than the store has room for. */
const tooLong = 'x'.repeat(200_000)

type Deliver = (some: readonly Event[]) => Delivery

/** The sink takes the first events, and then fails. */
const upTo = (count: number, some: readonly Event[], why = failure): Delivery => ({
  ...whole,
  partial: { taken: some.slice(0, count), failure: why },
})

const answer = 'not sent: older than batch.maxAgeHours (18)'
const skipsOf = (some: readonly Event[]): Skip[] =>
  some.map((event) => ({ event, reason: 'too_old', answer }))
const takesFrom2 = (some: readonly Event[]): Delivery => ({
  ...whole,
  skipped: skipsOf(some.filter((event) => numberOf(event) < 2)),
})
const dropping: Delivery = { ...whole, lost: 2 }

async function staged(deliver: Deliver = () => whole, size = 3, of = events): Promise<Stage> {
  const stage = await createStage()
  stage.script.answer = listingOf(of, size)
  stage.script.deliver = async (some) => deliver(some)
  return stage
}

const countersOf = async (stage: Stage) => (await stage.read())!.counters
const hour = ({ clock }: Stage) => clock.advance(3_600_000)

async function expectInLedger(stage: Stage): Promise<void> {
  const { delivered, deadLetters, skipped = 0, filtered = 0 } = await countersOf(stage)
  const count = (await stage.store.ledger.minutes(stream)).reduce((sum, minute) => sum + minute.count, 0)
  expect(count).toBe(delivered + deadLetters + skipped + filtered)
}

describe('of what a sink is given', () => {
  type Fate = 'taken' | 'refused' | 'too old' | 'left'

  /** A day, and what a sink does with it in the first pump; in the second one it takes all. */
  interface Turn {
    /** Of each event. A delivery that leaves one fails. */
    readonly fates: readonly Fate[]
    readonly size: number
    /** Of a load. */
    readonly pages: number
    /** For dead letters, in the store. */
    readonly isRoom: boolean
    /** The sink wants every second event only. */
    readonly filters: boolean
  }

  const anyTurn: fc.Arbitrary<Turn> = fc.record({
    fates: fc.array(
      fc.oneof(
        { arbitrary: fc.constant<Fate>('taken'), weight: 6 },
        fc.constantFrom<Fate>('refused', 'too old', 'left'),
      ),
      { minLength: 2, maxLength: 12 },
    ),
    size: fc.integer({ min: 2, max: 4 }),
    pages: fc.integer({ min: 1, max: 3 }),
    isRoom: fc.boolean(),
    filters: fc.boolean(),
  })

  /** The rule: all that is settled is committed once, and the cursor stays before the first page with more to settle. */
  function committedIn({ fates, size, pages, isRoom, filters }: Turn) {
    const counters = { delivered: 0, deadLetters: 0, skipped: 0, filtered: 0, lost: 0 }
    const settled = new Set<number>()
    const numbers = fates.map((_, number) => number)
    const isWanted = (number: number) => !filters || number % 2 === 0
    for (let from = 0; from < fates.length; from += size * pages) {
      const load = numbers.slice(from, from + size * pages)
      const of = (fate: Fate) => load.filter((number) => isWanted(number) && fates[number] === fate)
      const [taken, old, refused] = [of('taken'), of('too old'), isRoom ? of('refused') : []]
      for (const number of [...taken, ...old, ...refused]) settled.add(number)
      counters.delivered += taken.length
      counters.deadLetters += refused.length
      counters.skipped += old.length
      counters.lost += Math.min(1, taken.length)
      const open = load.find((number) => isWanted(number) && !settled.has(number))
      const end = open === undefined ? from + load.length : open - (open % size)
      counters.filtered += load.filter((number) => number < end && !isWanted(number)).length
      const fails = of('refused').length > refused.length ? 'dead_letters_full' : 'server_error'
      if (open !== undefined) return { counters, settled, cursor: end, fails }
    }
    return { counters, settled, cursor: 0, fails: undefined }
  }

  const doing =
    ({ fates, isRoom }: Turn): Deliver =>
    (some) => {
      const of = (fate: Fate) => some.filter((event) => fates[numberOf(event)] === fate)
      const taken = of('taken')
      return {
        ...whole,
        lost: Math.min(1, taken.length),
        refusals: refusalsOf(of('refused'), isRoom ? 'no' : tooLong),
        skipped: skipsOf(of('too old')),
        ...(of('left').length > 0 && { partial: { taken, failure } }),
      }
    }

  test('all that is settled is committed once, and all else is delivered again', async () => {
    await fc.assert(
      fc.asyncProperty(anyTurn, async (turn) => {
        const stage = await staged(doing(turn), turn.size, firstEvents(turn.fates.length))
        stage.script.load = { pages: turn.pages }
        const sink = { ...stage.plainSink, load: stage.script.load, ...(turn.filters && { wants: isEven }) }
        const { counters, settled, cursor, fails } = committedIn(turn)
        expect((await stage.pump({ sink }))?.code).toBe(fails)
        const first = await stage.read()
        expect({ skipped: 0, filtered: 0, lost: 0, ...first?.counters }).toMatchObject(counters)
        expect(Number(first?.full?.cursor ?? 0)).toBe(cursor)
        expect(first?.trouble?.code).toBe(fails)
        expect(await stage.store.deadLetters.list()).toHaveLength(counters.deadLetters)
        await hour(stage)
        stage.script.deliver = async () => whole
        stage.delivered.length = 0
        await stage.pump({ sink })
        const rest = turn.fates.flatMap((_, number) =>
          settled.has(number) || (turn.filters && number % 2 > 0) ? [] : [`e${number}`],
        )
        expect(stage.ids()).toEqual(rest)
        expect((await countersOf(stage)).lost ?? 0).toBe(counters.lost)
        expect(stage.held()).toBe(0)
        await expectInLedger(stage)
      }),
      { numRuns: 150 },
    )
  })

  test('each outcome is told', async () => {
    const fates = ['too old', 'taken', 'refused', 'taken', 'left', 'taken'] as const
    const stage = await staged(doing({ fates, isRoom: true, size: 3, pages: 1, filters: false }))
    await stage.pump({ sink: { ...stage.plainSink, wants: ({ id }) => id !== 'e1' && id !== 'e3' } })
    const told = (name: string) => stage.internalEvents.filter((internalEvent) => internalEvent.name === name)
    expect(told('EventsSkipped')).toMatchObject([{ stream, reason: 'too_old', count: 1, answer }])
    expect(told('EventDeadLettered')).toMatchObject([{ id: 'e2', reason: 'refused', answer: 'no' }])
    expect(told('LoadCommitted')).toMatchObject([
      { pages: 1, delivered: 0, filtered: 1, deadLettered: 1, duplicates: 0 },
      { pages: 0, delivered: 1, filtered: 0, deadLettered: 0, duplicates: 0, lost: 1 },
    ])
  })

  test('is kept what was taken before the process was stopped', async () => {
    const stage = await staged((some) => upTo(3, some, cancelled()), 6)
    await expect(stage.pump()).rejects.toMatchObject({ kind: 'cancelled' })
    stage.script.deliver = async () => whole
    await stage.pump()
    expect(stage.ids().slice(6)).toEqual(idsOf(3, 6))
  })

  test('nothing is given where the sink filters out everything', async () => {
    const stage = await staged()
    await stage.pump({ sink: { ...stage.plainSink, wants: () => false } })
    expect(stage.steps('deliver')).toEqual([])
    expect(await countersOf(stage)).toMatchObject({ delivered: 0, filtered: 6 })
    expect(Object.keys(await countersOf(stage))).not.toContain('lost')
  })
})

test.each<[what: string, instead: Instead, fails: string | undefined, holds: object, rest: string[]]>([
  [
    'a cursor that expires restarts the scan within the same pump',
    (_, number) => (number === 2 ? new Failure('retry', 'cursor_expired', 'gone') : undefined),
    undefined,
    { lastFull: { pages: 2 }, restarts: 0 },
    [],
  ],
  [
    'a cursor that expires twice makes the stream back off',
    ({ cursor }) => (cursor === null ? undefined : new Failure('retry', 'cursor_expired', 'gone')),
    'cursor_expired',
    { full: undefined, restarts: 1, needsFull: true },
    idsOf(3, 6),
  ],
  [
    'a page that is too large restarts the scan',
    (_, number) => (number === 2 ? new Failure('refuse', 'page_too_large', '100 MB') : undefined),
    'page_too_large',
    { full: undefined, needsFull: true },
    idsOf(3, 6),
  ],
  [
    'a load is delivered before the failure of the page after it, whose cursor is kept',
    (_, number) => (number === 2 ? new Failure('retry', 'network', 'no route') : undefined),
    'network',
    { full: { cursor: '3', pages: 1 } },
    idsOf(3, 6),
  ],
])('%s', async (_, instead, fails, holds, rest) => {
  const stage = await staged()
  stage.script.load = {}
  stage.script.answer = listingOf(events, 3, instead)
  expect((await stage.pump())?.code).toBe(fails)
  const checkpoint = (await stage.read())!
  expect({ full: undefined, ...checkpoint }).toMatchObject(holds)
  expect(checkpoint.trouble?.code).toBe(fails)
  await hour(stage)
  stage.script.answer = listingOf(events, 3)
  stage.delivered.length = 0
  await stage.pump()
  expect(stage.ids()).toEqual(rest)
})

describe('a day from files', () => {
  /** Ships the events as a day from files, days after polls have read it for the last time. */
  async function shipFiles(stage: Stage, sink = stage.plainSink, request = 'r') {
    await stage.clock.advance(10 * 24 * 3_600_000)
    stage.apiClock.learn('default', 0, {})
    async function* read() {
      yield { part: 'p', from: 1, bytes: 10, lines: events }
    }
    const job = { request, stream, zone, sink, read }
    return shipArchived(job, stage.deps, never)
  }

  test.each<
    [what: string, deliver: Deliver, wants: (event: Event) => boolean, result: object, lost?: number]
  >([
    ['dropped', () => dropping, () => true, { shipped: 6 }, 2],
    ['too old', takesFrom2, () => true, { shipped: 4, skipped: 2, present: 0 }],
    ['filtered out', () => whole, isEven, { shipped: 3, filtered: 3, present: 0 }],
  ])('has what is %s in its result', async (_, deliver, wants, result, lost) => {
    const stage = await staged(deliver)
    expect(await shipFiles(stage, { ...stage.plainSink, wants })).toMatchObject(result)
    expect((await countersOf(stage)).lost).toBe(lost)
  })

  test('keeps what a sink took before it failed', async () => {
    const refused = new Failure('stop', 'sink_refuses', '403')
    const stage = await staged((some) => upTo(2, some, refused))
    await expect(shipFiles(stage)).rejects.toBe(refused)
    expect(await countersOf(stage)).toMatchObject({ events: 0, delivered: 2 })
    stage.script.deliver = async () => whole
    expect(await shipFiles(stage, stage.plainSink, 'again')).toMatchObject({ shipped: 4, present: 2 })
  })
})

test.each<[what: string, deliver: Deliver, result: object, left: string[], counters: object]>([
  [
    'dropped is counted',
    () => dropping,
    { delivered: 6, left: 0 },
    [],
    { delivered: 6, deadLetters: 0, lost: 2 },
  ],
  [
    'taken is no dead letter any longer, although the replay failed',
    (some) => upTo(2, some),
    { delivered: 2, left: 4, error: failure.message },
    idsOf(2, 6),
    { delivered: 2, deadLetters: 4 },
  ],
])('what a replay finds %s', async (_, deliver, result, left, counters) => {
  const stage = await staged((some) => ({ ...whole, refusals: refusalsOf(some) }), 6)
  await stage.pump()
  stage.script.deliver = async (some) => deliver(some)
  const chosen = await stage.store.deadLetters.list()
  const results = await replayDeadLetters(chosen, replayOver(stage.deps, stage.plainSink), never)
  expect(results).toMatchObject([result])
  expect((await stage.store.deadLetters.list()).map(({ id }) => id)).toEqual(left)
  expect(await countersOf(stage)).toMatchObject(counters)
})

describe('whether a sink has ever taken an event', () => {
  test('is known after a restart: an event that is refused alone stops nothing', async () => {
    const stage = await createStage()
    const server = await serve((got, response) =>
      response.writeHead(got.ids.includes('e1') ? 400 : 200).end(),
    )
    for (const count of [1, 2]) {
      stage.script.answer = listingOf(firstEvents(count), count)
      expect(await stage.pump({ sink: ship(server.url, { name: stream.sink }).sink })).toBeUndefined()
      await hour(stage)
    }
    expect(await stage.store.deadLetters.list()).toMatchObject([{ id: 'e1' }])
  })

  test.each([
    { of: 'another day of that sink', stream: { ...stream, day: dayAt('2026-11-19') }, isKnown: true },
    { of: 'another zone of that sink', stream: { ...stream, zone: 102 }, isKnown: true },
    { of: 'another sink', stream: { ...stream, sink: 'other' }, isKnown: false },
  ])('is known for a new day from $of: $isKnown', async ({ stream: other, isKnown }) => {
    const stage = await staged()
    await stage.pump({ stream: other })
    stage.script.answer = listingOf([], 1)
    await stage.pump({ sink: stage.plainSink })
    expect(await stage.options.at(-1)!.hasTaken?.()).toBe(isKnown)
  })

  test('is read from the store once per delivery, and only if an event is refused', async () => {
    const server = await serve((_got, response) => response.writeHead(400).end())
    const { sink } = ship(server.url, { name: stream.sink })
    let asked = 0
    const hasTaken = () => Promise.resolve(asked++ > 5)
    const open = await sink.open(stream, { hasTaken }, never)
    expect(await failureOf(open.deliver(events.slice(0, 4), never))).toMatchObject({ code: 'rejected' })
    expect(asked).toBe(1)
  })
})
