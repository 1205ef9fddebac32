import { expect, test } from 'vitest'
import { streamKey } from '../../src/domain/stream.ts'
import { stream } from '../domain/builders.ts'
import { createStage, eventAt, listingOf, type Stage } from './stage.ts'

const temporary = { ...stream, resend: 'b1' }
const request = { stream: temporary, priority: 'backfill', readRequest: { id: 'b1' } } as const
const events = [0, 1, 2, 3].map((number) => eventAt(number))

/** A stream that was read and shipped to its end, to a sink that is no file sink. */
async function shipped(): Promise<Stage> {
  const stage = await createStage()
  stage.script.answer = listingOf(events, 2)
  await stage.pump({ sink: stage.plainSink })
  expect(stage.delivered).toHaveLength(4)
  stage.delivered.length = 0
  return stage
}

async function liveOf({ store }: Stage) {
  return { checkpoint: await store.ledger.read(stream), ledger: await store.ledger.minutes(stream) }
}

test('a resend delivers again all that the API lists, and does not change the live stream', async () => {
  const stage = await shipped()
  const before = await liveOf(stage)
  stage.script.answer = listingOf([...events, eventAt(4)], 2)
  expect(await stage.pump({ ...request, sink: stage.plainSink })).toBeUndefined()
  expect(stage.delivered.map(({ id }) => id)).toEqual(['e0', 'e1', 'e2', 'e3', 'e4'])
  expect(await liveOf(stage)).toEqual(before)
  const own = await stage.store.ledger.read(temporary)
  expect(own).toMatchObject({ lastRequest: { id: 'b1', outcome: 'done', found: 5 }, stream: temporary })
  // The live stream finds what came meanwhile by itself.
  stage.delivered.length = 0
  await stage.clock.advance(3_600_000)
  await stage.pump({ sink: stage.plainSink })
  expect(stage.delivered.map(({ id }) => id)).toEqual(['e4'])
})

test('an interrupted resend continues, and delivers no page twice', async () => {
  const stage = await shipped()
  await stage.pump({ ...request, sink: stage.plainSink, mayGoOn: () => false })
  expect(stage.delivered.map(({ id }) => id)).toEqual(['e0', 'e1'])
  await stage.pump({ ...request, sink: stage.plainSink })
  expect(stage.delivered.map(({ id }) => id)).toEqual(['e0', 'e1', 'e2', 'e3'])
})

test('what the sink refuses of a resend is a dead letter of the live stream', async () => {
  const stage = await shipped()
  stage.script.deliver = async (some) => ({
    refusals: some.slice(0, 1).map((event) => ({ event, reason: 'refused', answer: 'no' })),
    committed: [],
    bytes: 1,
  })
  await stage.pump({ ...request, sink: stage.plainSink })
  const kept = await stage.store.deadLetters.list()
  expect(
    kept.map(({ id, zone, day, sink }) => [id, streamKey({ zone, day, sink } as typeof stream)]),
  ).toEqual([
    ['e0', streamKey(stream)],
    ['e2', streamKey(stream)],
  ])
})

test('a file sink is never opened for a resend: it would cut what the live stream wrote', async () => {
  const stage = await createStage()
  stage.script.answer = listingOf(events, 2)
  await stage.pump()
  const opened = stage.opened.length
  expect(await stage.pump(request)).toMatchObject({ code: 'rejected', kind: 'refuse' })
  expect(stage.opened).toHaveLength(opened)
})
