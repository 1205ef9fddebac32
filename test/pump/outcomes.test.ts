import { describe, expect, test } from 'vitest'
import { Failure } from '../../src/domain/failure.ts'
import type { Delivery } from '../../src/domain/event/delivery.ts'
import type { Event } from '../../src/domain/event/event.ts'
import { shipArchived } from '../../src/maintenance/archive/ship-archived.ts'
import { replayStream } from '../../src/maintenance/dead-letters/replay.ts'
import { stream } from '../domain/builders.ts'
import { createStage, eventAt, listingOf, zone, type Stage } from './stage.ts'

const events = [0, 1, 2, 3, 4, 5].map((number) => eventAt(number))
const never = new AbortController().signal
const whole: Delivery = { refusals: [], committed: [], bytes: 1 }
const failure = new Failure('retry', 'server_error', '503')
const numberOf = ({ id }: Event) => Number(id.slice(1))

async function staged(deliver: (some: readonly Event[]) => Delivery, size = 3): Promise<Stage> {
  const stage = await createStage()
  stage.script.answer = listingOf(events, size)
  stage.script.deliver = async (some) => deliver(some)
  return stage
}

const refusalsOf = (some: readonly Event[], answer = 'no') =>
  some.map((event) => ({ event, reason: 'refused' as const, answer }))

const countersOf = async (stage: Stage) => (await stage.read())!.counters

async function ledgerCount({ store }: Stage): Promise<number> {
  return (await store.ledger.minutes(stream)).reduce((sum, { count }) => sum + count, 0)
}

/** The events, as a day from files. */
function shipFiles(stage: Stage, sink = stage.plainSink) {
  async function* read() {
    yield { part: 'p', from: 1, events: events.map((event) => ({ event, bytes: 10 })) }
  }
  const job = { request: 'r', stream, zone, sink, read, progressed: () => undefined }
  return shipArchived(job, stage.deps, never)
}

describe('events that the destination says it dropped', () => {
  const answer: Delivery = { ...whole, lost: 2 }
  const ways: readonly [string, (stage: Stage) => Promise<unknown>, object][] = [
    ['a page', (stage) => stage.pump(), { delivered: 6, lost: 4 }],
    [
      'a page that was delivered in part',
      (stage) => {
        stage.script.deliver = async (some) => ({ ...answer, partial: { taken: some.slice(0, 2), failure } })
        return stage.pump()
      },
      { delivered: 2, lost: 2 },
    ],
    [
      'a page whose dead letters find no room',
      (stage) => {
        const refusals = (some: readonly Event[]) => refusalsOf(some.slice(2), 'x'.repeat(100_000))
        stage.script.deliver = async (some) => ({ ...answer, refusals: refusals(some) })
        return stage.pump()
      },
      { delivered: 2, deadLetters: 0, lost: 2 },
    ],
    [
      'a replay of dead letters',
      async (stage) => {
        stage.script.deliver = async (some) => ({ ...whole, refusals: refusalsOf(some) })
        await stage.pump()
        stage.script.deliver = async () => answer
        const keys = await stage.store.deadLetters.keys(stream)
        const same = (event: Event) => event
        const job = { stream, zone, sink: stage.plainSink, keys, redo: same, done: () => undefined }
        await replayStream(job, stage.deps, never)
      },
      { delivered: 6, deadLetters: 0, lost: 2 },
    ],
    ['a day from files', (stage) => shipFiles(stage), { delivered: 6, lost: 2 }],
  ]

  test.each(ways)('are counted: %s', async (_name, way, counters) => {
    const stage = await staged(() => answer)
    await way(stage)
    expect(await countersOf(stage)).toMatchObject(counters)
  })

  test('stay counted when further pages are read', async () => {
    const stage = await staged(() => answer)
    await stage.pump()
    stage.script.deliver = async () => whole
    stage.script.answer = listingOf([...events, eventAt(7)], 10)
    await stage.clock.advance(3_600_000)
    await stage.pump()
    expect(await countersOf(stage)).toMatchObject({ delivered: 7, lost: 4 })
  })

  test('have no counter where there are none', async () => {
    const stage = await staged(() => whole)
    await stage.pump()
    expect(Object.keys(await countersOf(stage))).not.toContain('lost')
  })
})

describe('events that are too old for the destination', () => {
  const answer = 'not sent: older than batch.maxAgeHours (18)'
  const takesFrom2 = (some: readonly Event[]): Delivery => {
    const old = some.filter((event) => numberOf(event) < 2)
    return { ...whole, skipped: old.map((event) => ({ event, reason: 'too_old', answer })) }
  }

  test('are counted, are in the ledger, and are no dead letters', async () => {
    const stage = await staged(takesFrom2)
    await stage.pump({ sink: stage.plainSink })
    const counters = { events: 6, delivered: 4, skipped: 2, deadLetters: 0 }
    expect(await countersOf(stage)).toMatchObject(counters)
    expect(await ledgerCount(stage)).toBe(6)
    const skipped = { name: 'EventsSkipped', stream, reason: 'too_old', count: 2, answer }
    expect(stage.internalEvents.filter(({ name }) => name === 'EventsSkipped')).toEqual([skipped])
    await stage.clock.advance(3_600_000)
    await stage.pump({ sink: stage.plainSink })
    expect(await countersOf(stage)).toMatchObject({ delivered: 4, skipped: 2 })
    expect(stage.log.filter((line) => line.startsWith('deliver'))).toHaveLength(2)
  })

  test('stay counted if the delivery fails in part', async () => {
    const stage = await staged(
      (some) => ({
        ...takesFrom2(some),
        partial: { taken: [events[2]!], failure },
      }),
      6,
    )
    await stage.pump({ sink: stage.plainSink })
    expect(await countersOf(stage)).toMatchObject({ delivered: 1, skipped: 2 })
    expect(await ledgerCount(stage)).toBe(3)
  })

  test('stay counted where the store has no room for dead letters', async () => {
    const refusals = refusalsOf([events[2]!], 'x'.repeat(200_000))
    const stage = await staged((some) => ({ ...takesFrom2(some), refusals }), 6)
    expect(await stage.pump({ sink: stage.plainSink })).toMatchObject({ code: 'dead_letters_full' })
    expect(await countersOf(stage)).toMatchObject({ delivered: 3, skipped: 2, deadLetters: 0 })
  })

  test('are in the result of a day from files', async () => {
    const stage = await staged(takesFrom2)
    expect(await shipFiles(stage)).toMatchObject({ shipped: 4, skipped: 2, present: 0 })
  })
})

describe('events that the sink filters out', () => {
  const filtering = ({ plainSink }: Stage) => ({
    ...plainSink,
    wants: (event: Event) => numberOf(event) % 2 === 0,
  })

  test('are not delivered, are counted once, and are in the ledger', async () => {
    const stage = await staged(() => whole)
    await stage.pump({ sink: filtering(stage) })
    expect(stage.delivered.map(({ id }) => id)).toEqual(['e0', 'e2', 'e4'])
    expect(await countersOf(stage)).toMatchObject({ events: 6, delivered: 3, filtered: 3 })
    expect(await ledgerCount(stage)).toBe(6)
    const told = stage.internalEvents.flatMap((each) => (each.name === 'PageCommitted' ? [each] : []))
    expect(told.map(({ delivered, filtered }) => [delivered, filtered])).toEqual([
      [2, 1],
      [1, 2],
    ])
    await stage.clock.advance(3_600_000)
    await stage.pump({ sink: filtering(stage) })
    expect(stage.delivered).toHaveLength(3)
    expect(await countersOf(stage)).toMatchObject({ delivered: 3, filtered: 3 })
  })

  test('need no delivery where a page has no others', async () => {
    const stage = await staged(() => whole)
    await stage.pump({ sink: { ...stage.plainSink, wants: () => false } })
    expect(stage.log.filter((line) => line.startsWith('deliver'))).toEqual([])
    expect(await countersOf(stage)).toMatchObject({ delivered: 0, filtered: 6 })
  })

  test('are counted with their page if a delivery of it fails in part', async () => {
    let failures = 1
    const stage = await staged(
      (some) => (failures-- > 0 ? { ...whole, partial: { taken: some.slice(0, 1), failure } } : whole),
      6,
    )
    await stage.pump({ sink: filtering(stage) })
    expect(await countersOf(stage)).toMatchObject({ delivered: 1 })
    expect((await countersOf(stage)).filtered).toBeUndefined()
    await stage.clock.advance(3_600_000)
    await stage.pump({ sink: filtering(stage) })
    expect(await countersOf(stage)).toMatchObject({ delivered: 3, filtered: 3 })
    expect(await ledgerCount(stage)).toBe(6)
  })

  test('are in the result of a day from files', async () => {
    const stage = await staged(() => whole)
    const archived = await shipFiles(stage, filtering(stage))
    expect(archived).toMatchObject({ shipped: 3, filtered: 3, present: 0 })
    expect(stage.delivered.map(({ id }) => id)).toEqual(['e0', 'e2', 'e4'])
  })
})
