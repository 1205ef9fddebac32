import { describe, expect, it } from 'vitest'
import type { Delivery } from '../../src/domain/event/delivery.ts'
import { cancelled, Failure } from '../../src/domain/failure.ts'
import type { Event } from '../../src/domain/event/event.ts'
import { replayStream } from '../../src/maintenance/dead-letters/replay.ts'
import { shipArchived } from '../../src/maintenance/archive/ship-archived.ts'
import { dayAt, stream } from '../domain/builders.ts'
import { failureOf, serve, ship } from '../sinks/http/destination-server.ts'
import { createStage, eventAt, listingOf, zone, type Stage } from './stage.ts'

const never = new AbortController().signal
const events = Array.from({ length: 500 }, (_, index) => eventAt(index))
const idsOf = (some: readonly { readonly id: string }[]) => some.map(({ id }) => id)
const hours = (stage: Stage, count: number) => stage.clock.sleep(count * 3_600_000, never)

function upTo(count: number, some: readonly Event[], failure = new Failure('retry', 'server_error', '503')) {
  const partial = { taken: some.slice(0, count), failure }
  return { refusals: [], committed: [], bytes: count, partial } satisfies Delivery
}

describe('the events of a page that a sink accepted before it failed', () => {
  it('are sent about once to a server that accepts two bodies per window', async () => {
    const stage = await createStage()
    stage.script.answer = listingOf(events, 500)
    let left = 2
    const server = await serve((_got, response) => response.writeHead(left-- > 0 ? 200 : 429).end())
    const batch = { maxEvents: 100, maxBytes: 1_000_000 }
    const { sink } = ship(server.url, { name: stream.sink, batch })
    for (let window = 0; window < 3; window++) {
      await stage.pump({ sink })
      expect((await stage.read())?.counters).toMatchObject({ delivered: Math.min(500, (window + 1) * 200) })
      left = 2
      await hours(stage, 1)
    }
    expect(server.taken().toSorted()).toEqual(idsOf(events).toSorted())
    const { lastFull, counters, trouble } = (await stage.read())!
    expect({ found: lastFull?.found, counters, trouble }).toMatchObject({
      found: 500,
      counters: { pages: 1, delivered: 500, deadLetters: 0 },
      trouble: undefined,
    })
    const ledger = await stage.store.ledger.minutes(stream)
    expect(ledger.reduce((sum, { count }) => sum + count, 0)).toBe(500)
  })

  it('are seen, counted and logged; the cursor stays, and the stream has the failure', async () => {
    const stage = await createStage()
    stage.script.answer = listingOf(events.slice(0, 6), 3)
    const second = idsOf(events.slice(3, 6))
    let failures = 1
    stage.script.deliver = async (some) => {
      if (some[0]!.id === second[0] && failures-- > 0) {
        const refusals = [{ event: some[1]!, reason: 'refused' as const, answer: 'no' }]
        return { ...upTo(1, some), refusals }
      }
      return { refusals: [], committed: [], bytes: 1 }
    }
    expect(await stage.pump()).toMatchObject({ code: 'server_error', kind: 'retry' })
    const before = (await stage.read())!
    expect(before.full).toMatchObject({ cursor: '3', pages: 1, found: 5 })
    expect(before.counters).toMatchObject({ pages: 1, events: 5, delivered: 4, deadLetters: 1 })
    expect(before.trouble).toMatchObject({ code: 'server_error' })
    expect(await stage.store.deadLetters.list()).toMatchObject([{ id: 'e4', answer: 'no' }])
    const told = stage.internalEvents.filter((internalEvent) => internalEvent.name === 'PageCommitted')
    expect(told.at(-1)).toMatchObject({ delivered: 1, duplicates: 0, deadLettered: 1 })
    const refused = stage.internalEvents.filter(({ name }) => name === 'EventDeadLettered')
    expect(refused).toMatchObject([{ id: 'e4', reason: 'refused', answer: 'no' }])
    expect(stage.held()).toBe(0)
    await hours(stage, 1)
    stage.delivered.length = 0
    await stage.pump()
    expect(idsOf(stage.delivered)).toEqual(['e5'])
    expect((await stage.read())!.counters).toMatchObject({ delivered: 5, deadLetters: 1 })
  })

  it('are kept if the process is stopped', async () => {
    const stage = await createStage()
    stage.script.answer = listingOf(events.slice(0, 4), 4)
    stage.script.deliver = async (some) => upTo(3, some, cancelled())
    await expect(stage.pump()).rejects.toMatchObject({ kind: 'cancelled' })
    stage.script.deliver = async () => ({ refusals: [], committed: [], bytes: 1 })
    await stage.pump()
    expect(idsOf(stage.delivered.slice(4))).toEqual(['e3'])
  })

  it('are kept without their dead letters if these do not fit', async () => {
    const stage = await createStage()
    stage.script.answer = listingOf(events.slice(0, 4), 4)
    stage.script.deliver = async (some) => ({
      ...upTo(2, some),
      refusals: [{ event: some[2]!, reason: 'refused', answer: 'x'.repeat(120_000) }],
    })
    expect(await stage.pump()).toMatchObject({ code: 'dead_letters_full' })
    expect((await stage.read())!.counters).toMatchObject({ delivered: 2, deadLetters: 0 })
  })

  it('are kept for a page from files', async () => {
    const stage = await createStage()
    let failures = 1
    stage.script.deliver = async (some) =>
      failures-- > 0 ? upTo(2, some, new Failure('stop', 'sink_refuses', '403')) : whole
    async function* read() {
      yield { part: 'p', from: 1, events: events.slice(0, 5).map((event) => ({ event, bytes: 1 })) }
    }
    const job = { stream, zone, sink: stage.sink, read, progressed: () => undefined }
    const ship = (request: string) => shipArchived({ ...job, request }, stage.deps, never)
    await expect(ship('one')).rejects.toMatchObject({ code: 'sink_refuses' })
    expect((await stage.read())!.counters).toMatchObject({ events: 0, delivered: 2 })
    expect(await ship('two')).toMatchObject({ shipped: 3, present: 2 })
  })

  it('are no longer dead letters, although the replay failed', async () => {
    const stage = await createStage()
    stage.script.answer = listingOf(events.slice(0, 5), 5)
    stage.script.deliver = async (some) => ({
      ...whole,
      refusals: some.map((event) => ({ event, reason: 'refused', answer: 'no' })),
    })
    await stage.pump()
    stage.script.deliver = async (some) => upTo(2, some)
    const pages: number[] = []
    const keys = await stage.store.deadLetters.keys(stream)
    const replay = { stream, zone, sink: stage.sink, keys, redo: (event: Event) => event }
    const done = ({ delivered }: { readonly delivered: number }) => void pages.push(delivered)
    await expect(replayStream({ ...replay, done }, stage.deps, never)).rejects.toThrow('503')
    expect(pages).toEqual([2])
    expect(idsOf(await stage.store.deadLetters.list())).toEqual(['e2', 'e3', 'e4'])
    expect((await stage.read())!.counters).toMatchObject({ delivered: 2, deadLetters: 3 })
  })
})

const whole: Delivery = { refusals: [], committed: [], bytes: 1 }

describe('whether a sink has ever taken an event', () => {
  it('is known after a restart: an event that is refused alone stops nothing', async () => {
    const stage = await createStage()
    const server = await serve((got, response) =>
      response.writeHead(got.ids.includes('e1') ? 400 : 200).end(),
    )
    stage.script.answer = listingOf(events.slice(0, 1), 1)
    expect(await stage.pump({ sink: ship(server.url, { name: stream.sink }).sink })).toBeUndefined()
    stage.script.answer = listingOf(events.slice(0, 2), 2)
    await hours(stage, 1)
    expect(await stage.pump({ sink: ship(server.url, { name: stream.sink }).sink })).toBeUndefined()
    expect(await stage.store.deadLetters.list()).toMatchObject([{ id: 'e1' }])
    expect((await stage.read())!.trouble).toBeUndefined()
  })

  it('is known for a new day from another day of that sink, and not from another sink', async () => {
    const stage = await createStage()
    stage.script.answer = listingOf(events.slice(0, 1), 1)
    const yesterday = { ...stream, day: dayAt('2026-11-19') }
    await stage.pump({ stream: { ...yesterday, sink: 'other' } })
    await stage.pump({ sink: stage.plainSink })
    const fresh = stage.options.at(-1)!
    expect(await fresh.hasTaken?.()).toBe(true)
    const without = await createStage()
    without.script.answer = listingOf(events.slice(0, 1), 1)
    await without.pump({ stream: { ...yesterday, sink: 'other' } })
    without.script.answer = listingOf([], 1)
    await without.pump({ sink: without.plainSink })
    expect(await without.options.at(-1)!.hasTaken?.()).toBe(false)
    await without.pump({ stream: yesterday })
    without.script.answer = listingOf(events.slice(0, 1), 1)
    await hours(without, 1)
    await without.pump({ stream: yesterday })
    await hours(without, 1)
    await without.pump({ sink: without.plainSink, stream: { ...stream, zone: 102 } })
    expect(await without.options.at(-1)!.hasTaken?.()).toBe(true)
  })

  it('is read from the store once per delivery, and only if an event is refused', async () => {
    const server = await serve((_got, response) => response.writeHead(400).end())
    const { sink } = ship(server.url, { name: stream.sink })
    let asked = 0
    const hasTaken = () => Promise.resolve(asked++ > 5)
    const open = await sink.open(stream, { hasTaken }, never)
    expect(await failureOf(open.deliver(events.slice(0, 4), never))).toMatchObject({ code: 'rejected' })
    expect(asked).toBe(1)
  })
})
