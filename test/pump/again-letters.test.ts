import { expect, it } from 'vitest'
import type { Delivery } from '../../src/domain/delivery.ts'
import type { Event } from '../../src/domain/event.ts'
import { storeEvent } from '../../src/domain/stored-event.ts'
import { dropLetters } from '../../src/pump/drop-letters.ts'
import { replayStream } from '../../src/pump/replay.ts'
import { stream } from '../domain/builders.ts'
import { backfill, createFiles, page, pumpToTheEnd } from './again-stage.ts'
import { zone } from './stage.ts'

it('a day that is shipped once more leaves dead letters to their replay', async () => {
  const { stage, listing, seen } = await createFiles(4)
  listing.push(...page(4))
  const { deliver } = stage.script
  const refused = listing[1]!
  stage.script.deliver = async (events, signal) => {
    const delivery = await deliver(
      events.filter((event) => event !== refused),
      signal,
    )
    const refusals = events.includes(refused)
      ? [{ event: refused, reason: 'refused' as const, answer: 'no' }]
      : []
    return { ...delivery, refusals }
  }
  await stage.pump()
  expect((await stage.store.deadLetters()).map(({ event }) => event)).toEqual([storeEvent(refused)])
  await pumpToTheEnd(stage)
  expect(await seen()).toEqual(['e0', 'e2', 'e3'])
  expect((await stage.read())?.lastAgain).toEqual({ wish: 'w1', events: 3 })
})

it('knows as a dead letter what is refused this time, and does not ship it with the next one', async () => {
  const { stage, listing, seen } = await createFiles(4)
  listing.push(...page(4))
  await stage.pump()
  const refused = listing[1]!
  const { open } = stage.script
  stage.script.open = async (options) => {
    const { staging, ...rest } = await open(options)
    if (staging === undefined) return rest
    const deliver = async (events: readonly Event[], signal: AbortSignal): Promise<Delivery> => ({
      ...(await staging.deliver(
        events.filter((event) => event !== refused),
        signal,
      )),
      refusals: events.includes(refused) ? [{ event: refused, reason: 'unmappable', answer: 'no' }] : [],
    })
    return { ...rest, staging: { ...staging, deliver } }
  }
  await pumpToTheEnd(stage)
  expect(await seen()).toEqual(['e0', 'e2', 'e3'])
  expect(await stage.store.deadLetterKeys(stream)).toMatchObject([{ id: 'e1' }])
  expect(await stage.read()).toMatchObject({ counters: { delivered: 3, deadLetters: 1 } })
  stage.script.open = open
  const next = { ...backfill, wish: { id: 'w2', again: 'ship' } } as const
  for (let tries = 0; (await stage.read())?.lastAgain?.wish !== 'w2'; tries++) {
    expect(tries).toBeLessThan(10)
    await stage.pump(next)
  }
  // Its letter stands: a replay would bring it a second time.
  expect(await seen()).toEqual(['e0', 'e2', 'e3'])
})

it('does not ship what a replay has delivered in the meantime', async () => {
  const { stage, listing, seen } = await createFiles(4)
  listing.push(...page(8))
  const { deliver } = stage.script
  const refused = listing[7]!
  stage.script.deliver = async (events, signal) => ({
    ...(await deliver(
      events.filter((event) => event !== refused),
      signal,
    )),
    refusals: events.includes(refused) ? [{ event: refused, reason: 'refused' as const, answer: 'no' }] : [],
  })
  await stage.pump()
  await stage.pump({ ...backfill, mayGoOn: () => false })
  stage.script.deliver = deliver
  const keys = await stage.store.deadLetterKeys(stream)
  const job = { stream, zone, sink: stage.sink, keys, redo: (event: Event) => event, done: () => undefined }
  await replayStream(job, stage.deps, new AbortController().signal)
  expect(await stage.store.deadLetterKeys(stream)).toEqual([])
  await pumpToTheEnd(stage)
  expect((await seen()).sort()).toEqual(page(8).map(({ id }) => id))
  expect((await stage.read())?.lastAgain).toEqual({ wish: 'w1', events: 7 })
})

it('a letter that is dropped after its page was read again stays dropped, one before is shipped', async () => {
  const { stage, listing, seen } = await createFiles(4)
  listing.push(...page(8))
  const { deliver } = stage.script
  const refused = new Set([listing[1]!, listing[7]!])
  stage.script.deliver = async (events, signal) => ({
    ...(await deliver(
      events.filter((event) => !refused.has(event)),
      signal,
    )),
    refusals: events
      .filter((event) => refused.has(event))
      .map((event) => ({ event, reason: 'refused', answer: 'no' })),
  })
  await stage.pump()
  await stage.pump({ ...backfill, mayGoOn: () => false })
  const keys = await stage.store.deadLetterKeys(stream)
  await dropLetters({ stream, zone, keys }, stage.deps, new AbortController().signal)
  expect((await stage.read())?.counters).toMatchObject({ delivered: 6, deadLetters: 0, dropped: 2 })
  await pumpToTheEnd(stage)
  expect((await stage.read())?.lastAgain?.kept).toBeUndefined()
  expect(await seen()).toEqual(['e0', 'e2', 'e3', 'e4', 'e5', 'e6', 'e7'])
  expect((await stage.read())?.counters).toMatchObject({ delivered: 7, deadLetters: 0, dropped: 1 })
})
