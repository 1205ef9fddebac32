import { describe, expect, it } from 'vitest'
import type { DeadLetter, Skip } from '../../../src/domain/event/delivery.ts'
import type { Event } from '../../../src/domain/event/event.ts'
import { Failure } from '../../../src/domain/failure.ts'
import { dropDeadLetters, replayDeadLetters } from '../../../src/tasks/dead-letters/replay.ts'
import { stream } from '../../domain/builders.ts'
import {
  createStage,
  firstEvents,
  idsOf,
  listingOf,
  refusalsOf,
  replayOver,
  whole,
  zone,
  type Stage,
} from '../../pump/stage.ts'

const never = new AbortController().signal

/** A stream whose sink has refused all of so many events; `answer` is what it said. */
async function refused(count: number, answer = 'no'): Promise<Stage> {
  const stage = await createStage()
  stage.script.answer = listingOf(firstEvents(count), 500)
  stage.script.deliver = async (some) => ({ ...whole, refusals: refusalsOf(some, answer) })
  await stage.pump()
  expect(await stage.store.deadLetters.list()).toHaveLength(count)
  stage.delivered.length = 0
  return stage
}

async function replay(stage: Stage, deps = stage.deps, given?: readonly DeadLetter[]) {
  const chosen = given ?? (await stage.store.deadLetters.list())
  return (await replayDeadLetters(chosen, replayOver(deps, stage.plainSink), never))[0]
}

/** How many events each delivery had. */
function sizesOf({ log }: Stage): number[] {
  return log.filter((step) => step.startsWith('deliver')).map((step) => step.split(' ').length - 1)
}

describe('a replay', () => {
  it('works page by page, the oldest event first, each page with a separate fence and commit', async () => {
    const stage = await refused(250)
    stage.script.deliver = async () => whole
    const before = stage.log.length
    expect(await replay(stage)).toMatchObject({ delivered: 250, left: 0 })
    const steps = stage.log.slice(before).map((step) => step.split(' ')[0])
    expect(steps).toEqual(Array.from({ length: 3 }, () => ['open', 'deliver', 'commit', 'close']).flat())
    expect(stage.ids()).toEqual(idsOf(0, 250))
    expect(sizesOf(stage).slice(-3)).toEqual([100, 100, 50])
    expect(await stage.store.deadLetters.list()).toEqual([])
    expect((await stage.read())?.counters).toMatchObject({ delivered: 250, deadLetters: 0 })
    expect(stage.options.at(-1)?.refusalsStand).toBe(true)
    // The ledger had them already.
    const ledger = await stage.store.ledger.minutes(stream)
    expect(ledger.reduce((sum, { count }) => sum + count, 0)).toBe(250)
  })

  it('keeps an event that has become too old for the destination, with its reason and the new answer', async () => {
    const stage = await refused(2)
    const answer = 'not sent: older than batch.maxAgeHours (18)'
    const skip = (event: Event): Skip => ({ event, reason: 'too_old', answer })
    stage.script.deliver = async ([old]) => ({ ...whole, skipped: [skip(old!)] })
    expect(await replay(stage)).toMatchObject({ delivered: 1, refusedAgain: { refused: 1 }, left: 0 })
    expect(await stage.store.deadLetters.list()).toMatchObject([{ id: 'e0', reason: 'refused', answer }])
    expect((await stage.read())?.counters).toMatchObject({ delivered: 1, deadLetters: 1 })
    expect((await stage.read())?.counters.skipped).toBeUndefined()
  })

  it('uses small pages for large events', async () => {
    const stage = await createStage()
    const port = { ...stage.store.deadLetters }
    const store = { ...stage.store, deadLetters: port }
    const deadLetters = firstEvents(12).map((event) => ({
      ...stream,
      id: event.id,
      time: event.time!,
      reason: 'refused' as const,
      answer: '',
      at: 1,
      event: 'x'.repeat(300_000),
    }))
    port.read = async (_, some) => deadLetters.filter(({ id }) => some.some((key) => key.id === id))
    await replay(stage, { ...stage.deps, store }, deadLetters)
    expect(sizesOf(stage)).toEqual([3, 3, 3, 3])
  })

  it('does not change dead letters if the sink fails', async () => {
    const stage = await refused(3)
    const before = await stage.store.deadLetters.list()
    stage.script.deliver = async () => {
      throw new Failure('retry', 'network', 'reset')
    }
    expect(await replay(stage)).toMatchObject({ delivered: 0, left: 3, error: 'reset' })
    expect(await stage.store.deadLetters.list()).toEqual(before)
    // Nobody else waits for the stream.
    expect(await stage.pump()).toBeUndefined()
  })

  it('counts what a sink that fails has not taken as not tried', async () => {
    const stage = await refused(3)
    const failure = new Failure('retry', 'network', 'reset')
    stage.script.deliver = async (some) => ({ ...whole, partial: { taken: some.slice(0, 1), failure } })
    expect(await replay(stage)).toMatchObject({ delivered: 1, gone: 0, left: 2, error: 'reset' })
  })

  it('delivers nothing to a sink that is held', async () => {
    const stage = await refused(1)
    const held = new Map([[stream.sink, 'looks like a renamed one']])
    const before = await stage.store.deadLetters.list()
    const [result] = await replayDeadLetters(before, replayOver(stage.deps, stage.plainSink, held), never)
    expect(result).toMatchObject({ delivered: 0, left: 1, error: 'looks like a renamed one' })
    expect([stage.delivered, await stage.store.deadLetters.list()]).toEqual([[], before])
  })

  it('does not deliver again if a longer answer does not fit', async () => {
    const stage = await refused(2, 'x'.repeat(45_000))
    const longer = 'y'.repeat(99_999)
    stage.script.deliver = async (some) => ({ ...whole, refusals: refusalsOf(some.slice(1), longer) })
    expect(await replay(stage)).toMatchObject({ delivered: 1, refusedAgain: { refused: 1 } })
    expect(await stage.store.deadLetters.list()).toMatchObject([{ id: 'e1', answer: 'x'.repeat(45_000) }])
    expect(stage.ids()).toEqual(['e0', 'e1'])
  })

  it('skips dead letters that another process has replayed or dropped meanwhile', async () => {
    const stage = await refused(3)
    stage.script.deliver = async () => whole
    const chosen = (await stage.store.deadLetters.list()).filter(({ id }) => id === 'e1')
    const ledger = { ...stage.deps.store.ledger }
    let isDropped = false
    ledger.take = async (...given) => {
      if (!isDropped) await dropDeadLetters(chosen, { deps: stage.deps, zoneOf: () => zone }, never)
      isDropped = true
      return stage.store.ledger.take(...given)
    }
    const store = { ...stage.deps.store, ledger }
    expect(await replay(stage, { ...stage.deps, store })).toMatchObject({ delivered: 2, gone: 1, left: 0 })
    expect(stage.ids()).toEqual(['e0', 'e2'])
  })
})

it('a drop counts what it drops, also of a day whose checkpoint was pruned, and each event once', async () => {
  const stage = await refused(2)
  const chosen = await stage.store.deadLetters.list()
  const drop = (some: readonly DeadLetter[]) =>
    dropDeadLetters(some, { deps: stage.deps, zoneOf: () => zone }, never)
  expect(await drop(chosen.slice(0, 1))).toEqual(chosen.slice(0, 1))
  expect((await stage.read())!.counters).toMatchObject({ delivered: 0, deadLetters: 1, dropped: 1 })
  await stage.complete()
  await stage.store.upkeep.prune([stream], { uncommittedBefore: stream.day, gapsBefore: 0 })
  expect(await drop(chosen)).toEqual(chosen.slice(1))
  expect((await stage.read())!.counters).toMatchObject({ deadLetters: 0, dropped: 1 })
  expect(await drop(chosen)).toEqual([])
})
