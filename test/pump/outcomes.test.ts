import { describe, expect, test } from 'vitest'
import { cancelled, Failure } from '../../src/domain/failure.ts'
import type { Delivery } from '../../src/domain/event/delivery.ts'
import type { Event } from '../../src/domain/event/event.ts'
import { shipArchived } from '../../src/maintenance/archive/ship-archived.ts'
import { replayStream } from '../../src/maintenance/dead-letters.ts'
import { dayAt, stream } from '../domain/builders.ts'
import { failureOf, serve, ship } from '../sinks/http/destination-server.ts'
import { createStage, eventAt, listingOf, redo, zone, type Stage } from './stage.ts'

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
/** More than the store has room for. */
const tooLong = 'x'.repeat(200_000)

/** The sink takes the first events, and then fails. */
const upTo = (count: number, some: readonly Event[], why = failure): Delivery => ({
  ...whole,
  partial: { taken: some.slice(0, count), failure: why },
})

const countersOf = async (stage: Stage) => (await stage.read())!.counters
const hour = ({ clock }: Stage) => clock.advance(3_600_000)

async function ledgerCount({ store }: Stage): Promise<number> {
  return (await store.ledger.minutes(stream)).reduce((sum, { count }) => sum + count, 0)
}

/** The events, as a day from files. */
function shipFiles(stage: Stage, sink = stage.plainSink, request = 'r') {
  async function* read() {
    yield { part: 'p', from: 1, events: events.map((event) => ({ event, bytes: 10 })) }
  }
  const job = { request, stream, zone, sink, read, progressed: () => undefined }
  return shipArchived(job, stage.deps, never)
}

/** Makes dead letters of all events, then replays them with the given outcome. Returns the events done of each page. */
async function replay(stage: Stage, deliver: (some: readonly Event[]) => Delivery): Promise<number[]> {
  stage.script.deliver = async (some) => ({ ...whole, refusals: refusalsOf(some) })
  await stage.pump()
  stage.script.deliver = async (some) => deliver(some)
  const keys = await stage.store.deadLetters.keys(stream)
  const pages: number[] = []
  const done = ({ delivered }: { readonly delivered: number }) => void pages.push(delivered)
  const job = { stream, zone, sink: stage.plainSink, keys, redo, done }
  await replayStream(job, stage.deps, never).catch((error: unknown) => {
    if (error !== failure) throw error
  })
  return pages
}

describe('the events of a page that a sink accepted before it failed', () => {
  test('are sent about once to a server that accepts two bodies per window', async () => {
    const many = Array.from({ length: 500 }, (_, index) => eventAt(index))
    const stage = await createStage()
    stage.script.answer = listingOf(many, 500)
    let left = 2
    const server = await serve((_got, response) => response.writeHead(left-- > 0 ? 200 : 429).end())
    const batch = { maxEvents: 100, maxBytes: 1_000_000 }
    const { sink } = ship(server.url, { name: stream.sink, batch })
    for (let window = 0; window < 3; window++) {
      await stage.pump({ sink })
      expect((await countersOf(stage)).delivered).toBe(Math.min(500, (window + 1) * 200))
      left = 2
      await hour(stage)
    }
    expect(server.taken().toSorted()).toEqual(many.map(({ id }) => id).toSorted())
    const { lastFull, counters, trouble } = (await stage.read())!
    expect([lastFull?.found, counters.pages, trouble]).toEqual([500, 1, undefined])
    expect(await ledgerCount(stage)).toBe(500)
  })

  test('are seen, counted and logged; the cursor stays, and the stream has the failure', async () => {
    let failures = 1
    const stage = await staged((some) =>
      some[0]!.id === 'e3' && failures-- > 0 ? { ...upTo(1, some), refusals: refusalsOf([some[1]!]) } : whole,
    )
    expect(await stage.pump()).toMatchObject({ code: 'server_error', kind: 'retry' })
    expect(await stage.read()).toMatchObject({
      full: { cursor: '3', pages: 1, found: 5 },
      counters: { pages: 1, events: 5, delivered: 4, deadLetters: 1 },
      trouble: { code: 'server_error' },
    })
    expect(await stage.store.deadLetters.list()).toMatchObject([{ id: 'e4', answer: 'no' }])
    const told = (name: string) => stage.internalEvents.filter((internalEvent) => internalEvent.name === name)
    expect(told('LoadCommitted').at(-1)).toMatchObject({ delivered: 1, duplicates: 0, deadLettered: 1 })
    expect(told('EventDeadLettered')).toMatchObject([{ id: 'e4', reason: 'refused', answer: 'no' }])
    expect(stage.held()).toBe(0)
    await hour(stage)
    stage.delivered.length = 0
    await stage.pump()
    expect(stage.ids()).toEqual(['e5'])
    expect(await countersOf(stage)).toMatchObject({ delivered: 5, deadLetters: 1 })
  })

  test('are kept if the process is stopped', async () => {
    const stage = await staged((some) => upTo(3, some, cancelled()), 6)
    await expect(stage.pump()).rejects.toMatchObject({ kind: 'cancelled' })
    stage.script.deliver = async () => whole
    await stage.pump()
    expect(stage.ids().slice(6)).toEqual(['e3', 'e4', 'e5'])
  })

  test('are kept for a page from files', async () => {
    let failures = 1
    const refused = new Failure('stop', 'sink_refuses', '403')
    const stage = await staged((some) => (failures-- > 0 ? upTo(2, some, refused) : whole))
    await expect(shipFiles(stage)).rejects.toBe(refused)
    expect(await countersOf(stage)).toMatchObject({ events: 0, delivered: 2 })
    expect(await shipFiles(stage, stage.plainSink, 'again')).toMatchObject({ shipped: 4, present: 2 })
  })

  test('are no longer dead letters, although the replay failed', async () => {
    const stage = await staged(() => whole, 6)
    expect(await replay(stage, (some) => upTo(2, some))).toEqual([2])
    expect((await stage.store.deadLetters.list()).map(({ id }) => id)).toEqual(['e2', 'e3', 'e4', 'e5'])
    expect(await countersOf(stage)).toMatchObject({ delivered: 2, deadLetters: 4 })
  })
})

describe('events that the destination says it dropped', () => {
  const answer: Delivery = { ...whole, lost: 2 }

  test.each<[string, (some: readonly Event[]) => Delivery, object]>([
    ['a page', () => answer, { delivered: 6, lost: 4 }],
    [
      'a page that was delivered in part',
      (some) => ({ ...answer, ...upTo(2, some) }),
      { delivered: 2, lost: 2 },
    ],
    [
      'a page that was delivered in part, whose dead letters find no room',
      (some) => ({ ...answer, ...upTo(2, some), refusals: refusalsOf(some.slice(2), tooLong) }),
      { delivered: 2, deadLetters: 0, lost: 2 },
    ],
    [
      'a page whose dead letters find no room',
      (some) => ({ ...answer, refusals: refusalsOf(some.slice(2), tooLong) }),
      { delivered: 2, deadLetters: 0, lost: 2 },
    ],
  ])('are counted: %s', async (_name, deliver, counters) => {
    const stage = await staged(deliver)
    await stage.pump()
    expect(await countersOf(stage)).toMatchObject(counters)
  })

  test('are counted: a replay of dead letters, a day from files', async () => {
    const stage = await staged(() => whole)
    await replay(stage, () => answer)
    expect(await countersOf(stage)).toMatchObject({ delivered: 6, deadLetters: 0, lost: 2 })
    const files = await staged(() => answer)
    await shipFiles(files)
    expect(await countersOf(files)).toMatchObject({ delivered: 6, lost: 2 })
  })

  test('stay counted when further pages are read, and have no counter where there are none', async () => {
    const stage = await staged(() => answer)
    await stage.pump()
    stage.script.deliver = async () => whole
    stage.script.answer = listingOf([...events, eventAt(7)], 10)
    await hour(stage)
    await stage.pump()
    expect(await countersOf(stage)).toMatchObject({ delivered: 7, lost: 4 })
    const without = await staged(() => whole)
    await without.pump()
    expect(Object.keys(await countersOf(without))).not.toContain('lost')
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
    await stage.pump()
    const counters = { events: 6, delivered: 4, skipped: 2, deadLetters: 0 }
    expect(await countersOf(stage)).toMatchObject(counters)
    expect(await ledgerCount(stage)).toBe(6)
    const skipped = { name: 'EventsSkipped', stream, reason: 'too_old', count: 2, answer }
    expect(stage.internalEvents.filter(({ name }) => name === 'EventsSkipped')).toEqual([skipped])
    await hour(stage)
    await stage.pump()
    expect(await countersOf(stage)).toMatchObject({ delivered: 4, skipped: 2 })
    expect(stage.log.filter((line) => line.startsWith('deliver'))).toHaveLength(2)
  })

  test.each<[string, Partial<Delivery>, object]>([
    [
      'the delivery fails in part',
      { partial: { taken: [events[2]!], failure } },
      { delivered: 1, skipped: 2 },
    ],
    [
      'the store has no room for dead letters',
      { refusals: refusalsOf([events[2]!], tooLong) },
      { delivered: 3, skipped: 2, deadLetters: 0 },
    ],
  ])('stay counted if %s', async (_name, more, counters) => {
    const stage = await staged((some) => ({ ...takesFrom2(some), ...more }), 6)
    await stage.pump()
    expect(await countersOf(stage)).toMatchObject(counters)
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
    expect(stage.ids()).toEqual(['e0', 'e2', 'e4'])
    expect(await countersOf(stage)).toMatchObject({ events: 6, delivered: 3, filtered: 3 })
    expect(await ledgerCount(stage)).toBe(6)
    const told = stage.internalEvents.flatMap((each) => (each.name === 'LoadCommitted' ? [each] : []))
    expect(told.map(({ delivered, filtered }) => `${delivered} ${filtered}`)).toEqual(['2 1', '1 2'])
    await hour(stage)
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
    const stage = await staged((some) => (failures-- > 0 ? upTo(1, some) : whole), 6)
    await stage.pump({ sink: filtering(stage) })
    expect((await countersOf(stage)).filtered).toBeUndefined()
    await hour(stage)
    await stage.pump({ sink: filtering(stage) })
    expect(await countersOf(stage)).toMatchObject({ delivered: 3, filtered: 3 })
    expect(await ledgerCount(stage)).toBe(6)
  })

  test('are in the result of a day from files', async () => {
    const stage = await staged(() => whole)
    const archived = await shipFiles(stage, filtering(stage))
    expect(archived).toMatchObject({ shipped: 3, filtered: 3, present: 0 })
    expect(stage.ids()).toEqual(['e0', 'e2', 'e4'])
  })
})

describe('whether a sink has ever taken an event', () => {
  test('is known after a restart: an event that is refused alone stops nothing', async () => {
    const stage = await createStage()
    const server = await serve((got, response) =>
      response.writeHead(got.ids.includes('e1') ? 400 : 200).end(),
    )
    for (const count of [1, 2]) {
      stage.script.answer = listingOf(events.slice(0, count), count)
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
    const stage = await staged(() => whole)
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
