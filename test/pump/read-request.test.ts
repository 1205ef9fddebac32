import { expect, test } from 'vitest'
import { Failure } from '../../src/domain/failure.ts'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import { stream } from '../domain/builders.ts'
import { packSightings, seenAs } from '../../src/pump/seen-window.ts'
import { createStage, eventAt, firstEvents, listingOf, type PageAnswer, type Stage } from './stage.ts'

const request = { priority: 'backfill', readRequest: { id: 'r1' } } as const
const events = firstEvents(4)

/** What lag, readiness and the next polls go by. */
const lagging = ({ caughtUpAtMs, needsFull, lastFull, incremental, storedCursors }: Checkpoint) =>
  [caughtUpAtMs, needsFull, lastFull, incremental, storedCursors] as const

/** A day that was shipped, has ended, and whose deduplication index was dropped. */
async function dropped(): Promise<Stage> {
  const stage = await createStage()
  stage.script.answer = listingOf(events, 2)
  await stage.pump()
  await stage.complete()
  await stage.store.upkeep.dropIndex(stream)
  stage.delivered.length = 0
  stage.script.answer = listingOf([...events, eventAt(4)], 2)
  return stage
}

test('a day whose deduplication index was dropped is never delivered again', async () => {
  const stage = await dropped()
  expect(await stage.pump(request)).toMatchObject({ code: 'index_dropped' })
  expect((await stage.read())?.lastRequest).toMatchObject({ id: 'r1', outcome: 'left_out' })
  // `run --once` asks for every planned day, also where readableDays was raised: this one was read to its end.
  expect(await stage.pump({ priority: 'live', readRequest: { id: 'once' } })).toBeUndefined()
  expect((await stage.read())?.lastRequest?.id).toBe('once')
  expect(stage.ids()).toEqual([])
})

test('a day whose deduplication index was dropped stays refused after a later commit into its first minute', async () => {
  const stage = await dropped()
  const seen = packSightings([seenAs(eventAt(9, eventAt(0).timeMs))])
  await stage.change((checkpoint) => checkpoint, { seen })
  expect(await stage.pump(request)).toMatchObject({ code: 'index_dropped' })
  expect(stage.ids()).toEqual([])
})

test('a poll of such a day backs off, also if its stream has not ended', async () => {
  const stage = await dropped()
  await stage.change((held) => ({ ...held, ended: undefined, needsFull: true }))
  expect(await stage.pump()).toMatchObject({ code: 'index_dropped' })
  expect((await stage.read())?.trouble).toMatchObject({ code: 'index_dropped', count: 1 })
  expect(stage.ids()).toEqual([])
})

test('no pump opens a day that was shipped and pruned, whoever asks, also after a commit to it', async () => {
  const stage = await createStage()
  stage.script.answer = listingOf(events, 2)
  await stage.pump()
  await stage.complete()
  await stage.store.upkeep.prune([stream], { uncommittedBefore: stream.day, gapsBefore: 0 })
  stage.log.length = 0
  await expect(stage.pump()).rejects.toMatchObject({ code: 'index_dropped' })
  expect([stage.log, await stage.read()]).toEqual([[], undefined])
  const reason = /^the day was shipped, and the state has dropped what \(state.keepDays\)/
  for (const id of ['r1', 'r2']) {
    const failure = await stage.pump({ ...request, readRequest: { id } })
    expect(failure).toMatchObject({ code: 'index_dropped', message: expect.stringMatching(reason) as string })
    const checkpoint = await stage.read()
    expect(checkpoint).toMatchObject({ ended: { as: 'complete' }, lastRequest: { id, outcome: 'left_out' } })
    expect(checkpoint!.lastRequest!.reason).toMatch(reason)
  }
  await stage.pump({ priority: 'live', readRequest: { id: 'once' } })
  for (const step of ['open', 'fetch', 'deliver']) expect(stage.steps(step)).toEqual([])
})

test('a pruned day of which nothing was shipped is read when somebody asks for it', async () => {
  const stage = await createStage()
  stage.script.answer = () => new Failure('retry', 'network', 'no route')
  await stage.pump()
  await stage.change((held) => ({ ...held, ended: { as: 'expired', atMs: 1 } }))
  await stage.store.upkeep.prune([stream], { uncommittedBefore: stream.day, gapsBefore: 0 })
  stage.script.answer = listingOf(events, 2)
  await stage.pump(request)
  expect(stage.ids()).toEqual(events.map(({ id }) => id))
})

test.each<[code: string, answer: PageAnswer | Failure]>([
  ['unauthorised', new Failure('stop', 'unauthorised', 'the API refuses the access key')],
  ['scan_guarded', { events: [], more: true }],
])(
  'a read request that fails with %s does not change state, lag and readiness of the live stream',
  async (code, answer) => {
    const stage = await createStage()
    stage.script.answer = listingOf(events, 2)
    await stage.pump()
    const before = (await stage.read())!
    stage.script.answer = () => answer
    expect(await stage.pump(request)).toMatchObject({ code })
    const after = (await stage.read())!
    expect(after.trouble).toBeUndefined()
    expect(after.requestTrouble).toMatchObject({ request: 'r1', code, count: 1 })
    expect(lagging(after)).toEqual(lagging(before))
    await stage.clock.advance(3_600_000)
    // The request backs off alone, another one begins at once, and the first one's success ends its trouble.
    stage.script.answer = listingOf(events, 2)
    await stage.pump(request)
    const answered = (await stage.read())!
    expect(answered.lastRequest).toEqual({ id: 'r1', outcome: 'done', found: 0 })
    expect(answered.requestTrouble).toBeUndefined()
  },
)

test('a day outside the window is left out by the commit that answers the request', async () => {
  const stage = await createStage()
  const serverDate = Date.parse('2026-11-30T00:00:00Z')
  stage.script.answer = () => new Failure('stop', 'window_closed', 'outside', { serverDate })
  await stage.pump(request)
  expect((await stage.read())?.lastRequest).toMatchObject({ id: 'r1', outcome: 'left_out' })
})
