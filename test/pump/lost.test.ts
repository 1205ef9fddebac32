import { expect, test } from 'vitest'
import { Failure } from '../../src/domain/failure.ts'
import type { Delivery } from '../../src/domain/event/delivery.ts'
import type { Event } from '../../src/domain/event/event.ts'
import { shipArchived } from '../../src/maintenance/archive/ship-archived.ts'
import { replayStream } from '../../src/maintenance/dead-letters/replay.ts'
import { stream } from '../domain/builders.ts'
import { createStage, eventAt, listingOf, zone, type Stage } from './stage.ts'

const events = [0, 1, 2, 3, 4, 5].map((number) => eventAt(number))
const never = new AbortController().signal
const answer: Delivery = { refusals: [], committed: [], bytes: 1, lost: 2 }
const refusalsOf = (some: readonly Event[], text = 'no') =>
  some.map((event) => ({ event, reason: 'refused' as const, answer: text }))

/** Each way from the answer of a destination, which says that it dropped 2 events of each body, to the store. */
const ways: readonly [string, (stage: Stage) => Promise<unknown>, object][] = [
  ['a page', (stage) => stage.pump(), { delivered: 6, lost: 4 }],
  [
    'a page that was delivered in part',
    (stage) => {
      const failure = new Failure('retry', 'server_error', '503')
      stage.script.deliver = async (some) => ({ ...answer, partial: { taken: some.slice(0, 2), failure } })
      return stage.pump()
    },
    { delivered: 2, lost: 2 },
  ],
  [
    'a page whose dead letters find no room',
    (stage) => {
      stage.script.deliver = async (some) => ({
        ...answer,
        refusals: refusalsOf(some.slice(2), 'x'.repeat(100_000)),
      })
      return stage.pump()
    },
    { delivered: 2, deadLetters: 0, lost: 2 },
  ],
  [
    'a replay of dead letters',
    async (stage) => {
      stage.script.deliver = async (some) => ({ ...answer, refusals: refusalsOf(some), lost: 0 })
      await stage.pump()
      stage.script.deliver = async () => answer
      const keys = await stage.store.deadLetters.keys(stream)
      const same = (event: Event) => event
      const job = { stream, zone, sink: stage.plainSink, keys, redo: same, done: () => undefined }
      await replayStream(job, stage.deps, never)
    },
    { delivered: 6, deadLetters: 0, lost: 2 },
  ],
  [
    'a day from files',
    async (stage) => {
      async function* read() {
        yield { part: 'p', from: 1, events: events.map((event) => ({ event, bytes: 10 })) }
      }
      const job = { request: 'r', stream, zone, sink: stage.plainSink, read, progressed: () => undefined }
      await shipArchived(job, stage.deps, never)
    },
    { delivered: 6, lost: 2 },
  ],
]

test.each(ways)(
  'events that the destination says it dropped are counted: %s',
  async (_name, way, counters) => {
    const stage = await createStage()
    stage.script.answer = listingOf(events, 3)
    stage.script.deliver = async () => answer
    await way(stage)
    expect((await stage.read())!.counters).toMatchObject(counters)
  },
)

test('the number stays when further pages are read', async () => {
  const stage = await createStage()
  stage.script.answer = listingOf(events, 3)
  stage.script.deliver = async () => answer
  await stage.pump()
  stage.script.deliver = async () => ({ refusals: [], committed: [], bytes: 1 })
  stage.script.answer = listingOf([...events, eventAt(7)], 10)
  await stage.clock.advance(3_600_000)
  await stage.pump()
  expect((await stage.read())!.counters).toMatchObject({ delivered: 7, lost: 4 })
})

test('a stream whose destination drops nothing has no such counter', async () => {
  const stage = await createStage()
  stage.script.answer = listingOf(events, 3)
  await stage.pump()
  expect(Object.keys((await stage.read())!.counters)).not.toContain('lost')
})
