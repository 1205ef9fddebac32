import { expect, test } from 'vitest'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import type { Event } from '../../src/domain/event/event.ts'
import { Failure } from '../../src/domain/failure.ts'
import { unseeDay } from '../../src/days/unsee.ts'
import { replayDeadLetters } from '../../src/tasks/dead-letters/replay.ts'
import { at, buildRecord, stream } from '../domain/builders.ts'
import {
  createStage,
  eventAt,
  firstEvents,
  listingOf,
  replayOver,
  refusalsOf,
  whole,
  zone,
  type Stage,
} from '../pump/stage.ts'

const request = { stream, priority: 'backfill', readRequest: { id: 'b1' } } as const
const events = firstEvents(4)
const never = new AbortController().signal

/** A stream of which the destination has refused these events, and taken all others. */
async function setUp(...refused: readonly string[]) {
  const stage = await createStage()
  /** What the destination has, in its order. */
  const taken: string[] = []
  const refuse = (...ids: readonly string[]) => {
    stage.script.deliver = async (some) => {
      const isRefused = ({ id }: Event) => ids.includes(id)
      taken.push(...some.filter((event) => !isRefused(event)).map(({ id }) => id))
      return { ...whole, refusals: refusalsOf(some.filter(isRefused)) }
    }
  }
  stage.script.answer = listingOf(events, 2)
  refuse(...refused)
  await stage.pump({ sink: stage.plainSink })
  const unsee = () => unseeDay({ stream, zone, request: 'b1' }, stage.deps, never)
  const replay = async () => {
    const chosen = await stage.store.deadLetters.list()
    await replayDeadLetters(chosen, replayOver(stage.deps, stage.plainSink), never)
  }
  return {
    stage,
    taken,
    refuse,
    unsee,
    replay,
    pump: () => stage.pump({ ...request, sink: stage.plainSink }),
  }
}

/** The counters of the stream, its ledger and its dead letters, which agree. */
async function countsOf({ store }: Stage) {
  const { counters } = (await store.ledger.read(stream))!
  const ledger = (await store.ledger.minutes(stream)).reduce((sum, { count }) => sum + count, 0)
  const waiting = (await store.deadLetters.list()).length
  expect(counters.deadLetters).toBe(waiting)
  const { delivered, deadLetters, dropped = 0, filtered = 0, skipped = 0 } = counters
  expect(delivered + deadLetters + dropped + filtered + skipped).toBe(ledger)
  return { delivered, deadLetters }
}

test('a day that counts as not shipped is shipped once more, with what came meanwhile, and then no more', async () => {
  const { stage, taken, unsee, pump } = await setUp()
  await unsee()
  expect(await countsOf(stage)).toEqual({ delivered: 0, deadLetters: 0 })
  stage.script.answer = listingOf([...events, eventAt(4)], 2)
  expect(await pump()).toBeUndefined()
  expect(taken.slice(4)).toEqual(['e0', 'e1', 'e2', 'e3', 'e4'])
  expect(await stage.read()).toMatchObject({ lastRequest: { id: 'b1', outcome: 'done', found: 5 } })
  expect(await countsOf(stage)).toEqual({ delivered: 5, deadLetters: 0 })
  // Nothing of it counts as late, or as missed by the polls.
  expect((await stage.read())!.counters.late).toBe(0)
  await stage.clock.advance(3_600_000)
  await stage.pump({ sink: stage.plainSink })
  expect(taken).toHaveLength(9)
})

test('what the sink refuses of a resend counts once, and a replay ships it once', async () => {
  const { stage, taken, refuse, unsee, replay, pump } = await setUp()
  await unsee()
  refuse('e0', 'e2', 'e4')
  stage.script.answer = listingOf([...events, eventAt(4)], 2)
  await pump()
  expect(await countsOf(stage)).toEqual({ delivered: 2, deadLetters: 3 })
  refuse()
  // The polls know the refused ones, one that they have never seen before included.
  await stage.clock.advance(3_600_000)
  await stage.pump({ sink: stage.plainSink })
  await replay()
  expect(taken.slice(4)).toEqual(['e1', 'e3', 'e0', 'e2', 'e4'])
  expect(await countsOf(stage)).toEqual({ delivered: 5, deadLetters: 0 })
})

test('without its read request, polls ship what is left, of a complete day too, and deliver no page twice', async () => {
  const { stage, taken, unsee } = await setUp()
  await stage.complete()
  await unsee()
  await stage.pump({ ...request, sink: stage.plainSink, mayGoOn: () => false })
  expect(await stage.read()).toMatchObject({ ended: { as: 'complete' }, resend: { found: 2 } })
  expect(taken.slice(4)).toEqual(['e0', 'e1'])
  await stage.pump({ sink: stage.plainSink })
  expect((await stage.read())!.resend).toBeUndefined()
  await stage.clock.advance(3_600_000)
  await stage.pump({ sink: stage.plainSink })
  expect(taken.slice(4)).toEqual(['e0', 'e1', 'e2', 'e3'])
})

test('state and lag of a day, and what is known of its listing, stay as they are while it is shipped once more', async () => {
  const { stage, unsee, pump } = await setUp()
  const ordering = { order: 'oldest-first', cursorProven: true, revocations: 0 } as const
  const lastIncremental = buildRecord({ beganAtMs: at(2.5), newestAtBeginMs: at(1) })
  await stage.clock.advance(at(3) - stage.clock.now())
  await stage.change((held) => ({ ...held, ordering, lastIncremental, needsFull: false }))
  await stage.complete()
  const kept = (held: Checkpoint | undefined) => {
    const { caughtUpAtMs, ended, trouble, needsFull, ordering } = held!
    return { caughtUpAtMs, ended, trouble, needsFull, ordering }
  }
  const before = (await stage.read())!
  await unsee()
  const unseen = (await stage.read())!
  expect([kept(unseen), unseen.lastFull]).toEqual([kept(before), before.lastFull])
  await pump()
  const after = (await stage.read())!
  expect(kept(after)).toEqual({ ...kept(before), caughtUpAtMs: after.lastFull!.beganAtMs })
  expect(after.counters).toMatchObject({ late: 0, delivered: 4 })
})

test('what a resend finds again says nothing about where the listing shows new events', async () => {
  const { stage, unsee, pump } = await setUp()
  const more = [3, 4, 5, 6].map((hour) => eventAt(10 + hour, at(hour)))
  stage.script.answer = listingOf([...events, ...more], 2)
  for (const hours of [8, 9]) {
    await stage.clock.advance(at(hours) - stage.clock.now())
    await stage.pump({ sink: stage.plainSink })
  }
  const { ordering } = (await stage.read())!
  await unsee()
  await pump()
  expect((await stage.read())!.lastRequest).toMatchObject({ found: 8 })
  expect((await stage.read())!.ordering).toEqual(ordering)
})

test('what was sent is counted over all scans of a resend, also where one had to begin again', async () => {
  const { stage, unsee, pump } = await setUp()
  await unsee()
  stage.script.answer = listingOf(events, 2, ({ cursor }) =>
    cursor === null ? undefined : new Failure('retry', 'cursor_expired', 'expired'),
  )
  await stage.pump({ ...request, sink: stage.plainSink, mayGoOn: () => false })
  await pump()
  stage.script.answer = listingOf(events, 2)
  await stage.clock.advance(3_600_000)
  await pump()
  expect((await stage.read())!.lastRequest).toEqual({ id: 'b1', outcome: 'done', found: 4 })
})

test('a resend ends where the API no longer keeps the day: nothing asks again, and no gap says that it was lost', async () => {
  const { stage, unsee, pump } = await setUp()
  await stage.complete()
  await unsee()
  const serverDate = at(24 * 9)
  await stage.clock.advance(serverDate - stage.clock.now())
  stage.script.answer = () => new Failure('refuse', 'window_closed', 'outside', { serverDate })
  await pump()
  expect(await stage.read()).toMatchObject({
    ended: { as: 'complete' },
    lastRequest: { outcome: 'left_out' },
  })
  expect((await stage.read())!.resend).toBeUndefined()
  expect(await stage.store.catalogue.gaps()).toEqual([])
})

test('a day whose deduplication index was dropped is shipped once more, since what the sink has does not matter', async () => {
  const { stage, taken, unsee, pump } = await setUp()
  await stage.complete()
  await stage.store.upkeep.dropIndex(stream)
  await unsee()
  await pump()
  expect(taken.slice(4)).toEqual(['e0', 'e1', 'e2', 'e3'])
  expect(await countsOf(stage)).toEqual({ delivered: 4, deadLetters: 0 })
})

test.each(['kept', 'pruned'])(
  'a dead letter that waits is left to its replay, with a checkpoint that was %s',
  async (was) => {
    const { stage, taken, refuse, unsee, replay, pump } = await setUp('e1')
    await stage.complete()
    if (was === 'pruned')
      await stage.store.upkeep.prune([stream], { uncommittedBefore: stream.day, gapsBefore: 0 })
    await unsee()
    refuse()
    await pump()
    expect(taken.slice(3)).toEqual(['e0', 'e2', 'e3'])
    await replay()
    await stage.clock.advance(3_600_000)
    await stage.pump({ sink: stage.plainSink })
    expect(taken.slice(3)).toEqual(['e0', 'e2', 'e3', 'e1'])
    expect(await countsOf(stage)).toEqual({ delivered: 4, deadLetters: 0 })
  },
)
