import { expect, test } from 'vitest'
import type { Delivery } from '../../src/domain/event/delivery.ts'
import type { Event } from '../../src/domain/event/event.ts'
import { Failure } from '../../src/domain/failure.ts'
import { shipArchived } from '../../src/maintenance/archive/ship-archived.ts'
import { stream } from '../domain/builders.ts'
import { createStage, eventAt, listingOf, zone, type Stage } from './stage.ts'

const events = [0, 1, 2, 3, 4, 5].map((number) => eventAt(number))
const never = new AbortController().signal
const answer = 'not sent: older than batch.maxAgeHours (18)'

/** A destination that takes the events from the given one on, and no older ones. */
function takesFrom(oldest: number): (some: readonly Event[]) => Delivery {
  const isOld = ({ id }: Event) => Number(id.slice(1)) < oldest
  return (some) => {
    const skipped = some.filter(isOld).map((event) => ({ event, reason: 'too_old' as const, answer }))
    return { refusals: [], skipped, committed: [], bytes: 1 }
  }
}

async function staged(size = 3): Promise<Stage> {
  const stage = await createStage()
  stage.script.answer = listingOf(events, size)
  stage.script.deliver = async (some) => takesFrom(2)(some)
  return stage
}

async function ledgerCount({ store }: Stage): Promise<number> {
  return (await store.ledger.minutes(stream)).reduce((sum, { count }) => sum + count, 0)
}

test('an event that is too old for the destination is counted, is in the ledger, and is no dead letter', async () => {
  const stage = await staged()
  await stage.pump({ sink: stage.plainSink })
  expect((await stage.read())!.counters).toMatchObject({
    events: 6,
    delivered: 4,
    skipped: 2,
    deadLetters: 0,
  })
  expect(await ledgerCount(stage)).toBe(6)
  expect(await stage.store.deadLetters.counts()).toEqual([])
  const skipped = { name: 'EventsSkipped', stream, reason: 'too_old', count: 2, answer }
  expect(stage.internalEvents.filter(({ name }) => name === 'EventsSkipped')).toEqual([skipped])
  await stage.clock.advance(3_600_000)
  await stage.pump({ sink: stage.plainSink })
  expect((await stage.read())!.counters).toMatchObject({ delivered: 4, skipped: 2 })
  expect(stage.log.filter((line) => line.startsWith('deliver'))).toHaveLength(2)
})

test('a delivery that fails in part keeps what it skipped', async () => {
  const stage = await staged(6)
  stage.script.deliver = async (some) => {
    const delivery = takesFrom(2)(some)
    const partial = { taken: [events[2]!], failure: new Failure('retry', 'server_error', '503') }
    return { ...delivery, partial }
  }
  await stage.pump({ sink: stage.plainSink })
  expect((await stage.read())!.counters).toMatchObject({ delivered: 1, skipped: 2 })
  expect(await ledgerCount(stage)).toBe(3)
})

test('where the store has no room for dead letters, what was skipped is kept', async () => {
  const stage = await staged(6)
  const refused = 'x'.repeat(200_000)
  stage.script.deliver = async (some) => {
    const delivery = takesFrom(2)(some)
    return { ...delivery, refusals: [{ event: events[2]!, reason: 'refused', answer: refused }] }
  }
  await stage.pump({ sink: stage.plainSink })
  expect((await stage.read())!.trouble?.code).toBe('dead_letters_full')
  expect((await stage.read())!.counters).toMatchObject({ delivered: 3, skipped: 2, deadLetters: 0 })
})

test('days from files have the number in their result', async () => {
  const stage = await staged()
  async function* read() {
    yield { part: 'p', from: 1, events: events.map((event) => ({ event, bytes: 10 })) }
  }
  const job = { request: 'r', stream, zone, sink: stage.plainSink, read, progressed: () => undefined }
  const archived = await shipArchived(job, stage.deps, never)
  expect(archived).toMatchObject({ shipped: 4, skipped: 2, present: 0 })
})
