import { expect, test } from 'vitest'
import { Failure } from '../../src/domain/failure.ts'
import type { Event } from '../../src/domain/event/event.ts'
import { shipArchived } from '../../src/maintenance/archive/ship-archived.ts'
import { stream } from '../domain/builders.ts'
import { createStage, eventAt, listingOf, zone, type Stage } from './stage.ts'

const events = [0, 1, 2, 3, 4, 5].map((number) => eventAt(number))
const isEven = ({ id }: Event) => Number(id.slice(1)) % 2 === 0
const never = new AbortController().signal

async function staged(size = 3): Promise<{ stage: Stage; sink: Stage['plainSink'] }> {
  const stage = await createStage()
  stage.script.answer = listingOf(events, size)
  return { stage, sink: { ...stage.plainSink, wants: isEven } }
}

async function ledgerCount({ store }: Stage): Promise<number> {
  return (await store.ledger.minutes(stream)).reduce((sum, { count }) => sum + count, 0)
}

function committed({ internalEvents }: Stage) {
  return internalEvents.filter((internalEvent) => internalEvent.name === 'PageCommitted')
}

test('a filtered event is not delivered, is counted, and is in the ledger', async () => {
  const { stage, sink } = await staged()
  await stage.pump({ sink })
  expect(stage.delivered.map(({ id }) => id)).toEqual(['e0', 'e2', 'e4'])
  expect((await stage.read())!.counters).toMatchObject({ events: 6, delivered: 3, filtered: 3 })
  expect(await ledgerCount(stage)).toBe(6)
  expect(committed(stage).map(({ delivered, filtered }) => [delivered, filtered])).toEqual([
    [2, 1],
    [1, 2],
  ])
})

test('a page with only filtered events is committed without a delivery', async () => {
  const { stage } = await staged()
  await stage.pump({ sink: { ...stage.plainSink, wants: () => false } })
  expect(stage.delivered).toEqual([])
  expect(stage.log.filter((line) => line.startsWith('deliver'))).toEqual([])
  expect((await stage.read())!.counters).toMatchObject({ delivered: 0, filtered: 6 })
})

test('a re-read neither delivers nor counts a filtered event again', async () => {
  const { stage, sink } = await staged()
  await stage.pump({ sink })
  await stage.clock.advance(3_600_000)
  await stage.pump({ sink })
  expect(stage.delivered).toHaveLength(3)
  const { counters } = (await stage.read())!
  expect(counters).toMatchObject({ delivered: 3, filtered: 3 })
  expect(counters.duplicates).toBeGreaterThan(0)
})

test('a delivery that fails in part counts it once, with the page', async () => {
  const { stage, sink } = await staged(6)
  let failures = 1
  stage.script.deliver = async (some) => {
    if (failures-- <= 0) return { refusals: [], committed: [], bytes: 1 }
    const partial = { taken: some.slice(0, 1), failure: new Failure('retry', 'server_error', '503') }
    return { refusals: [], committed: [], bytes: 1, partial }
  }
  await stage.pump({ sink })
  expect((await stage.read())!.counters).toMatchObject({ delivered: 1 })
  expect((await stage.read())!.counters.filtered).toBeUndefined()
  await stage.clock.advance(3_600_000)
  await stage.pump({ sink })
  expect((await stage.read())!.counters).toMatchObject({ delivered: 3, filtered: 3 })
  expect(await ledgerCount(stage)).toBe(6)
})

test('days from files are filtered the same way, and the result has the number', async () => {
  const { stage, sink } = await staged()
  async function* read() {
    yield { part: 'p', from: 1, events: events.map((event) => ({ event, bytes: 10 })) }
  }
  const job = { request: 'r', stream, zone, sink, read, progressed: () => undefined }
  const archived = await shipArchived(job, stage.deps, never)
  expect(archived).toMatchObject({ shipped: 3, filtered: 3, present: 0 })
  expect(stage.delivered.map(({ id }) => id)).toEqual(['e0', 'e2', 'e4'])
})
