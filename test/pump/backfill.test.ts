import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { Backfilled } from '../../src/domain/backfill.ts'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import { Failure } from '../../src/domain/failure.ts'
import type { PlannedStream } from '../../src/domain/plan.ts'
import type { CheckpointStore } from '../../src/ports.ts'
import { noLongerKept, settleBackfilled, settleServed } from '../../src/pump/backfill.ts'
import { openSqliteStore } from '../../src/state/sqlite/store.ts'
import { checkpointOf, nowMs, recordOf, streamOf, sweepOf } from './backfill-checkpoints.ts'

const stream = streamOf(1, '2026-11-18')
const wish = { id: 'a' }
const expired = { as: 'expired', atMs: nowMs } as const

async function storeWith(changes: Partial<Checkpoint>): Promise<CheckpointStore> {
  const store = await openSqliteStore({ path: ':memory:', clock: systemClock, deadLetterMaxBytes: 1 })
  onTestFinished(() => store.close())
  const { fence } = await store.take(stream, { id: 'holder', schedule: true })
  const next = checkpointOf(stream, changes)
  await store.commit({ fence, basedOn: 0, next, seen: new Map(), deadLetters: [], gaps: [] })
  const { day } = stream
  const streams: Backfilled[] = [{ stream, state: 'queued' }]
  await store.addBackfill({ id: 'a', createdAtMs: nowMs, from: day, to: day, state: 'running', streams })
  return store
}

async function settled(
  checkpoint: Partial<Checkpoint>,
  failure?: Failure,
  before: Partial<Checkpoint> = {},
): Promise<string> {
  const store = await storeWith(checkpoint)
  await settleBackfilled(store, { stream, wish, checkpoint: checkpointOf(stream, before) }, failure)
  const [backfill] = await store.backfills()
  const [found] = backfill!.streams
  return [found!.state, ...(found!.reason === undefined ? [] : [found!.reason])].join(': ')
}

const refused = (serverDate?: string) =>
  new Failure(
    'stop',
    'window_closed',
    'no',
    serverDate === undefined ? {} : { serverDate: Date.parse(serverDate) },
  )

test('settles a stream once its wish is served, or never can be', async () => {
  expect(await settled({ full: sweepOf(2, 1, 'a') })).toBe('queued')
  expect(await settled({ lastFull: recordOf(2, 1, 'other') })).toBe('queued')
  expect(await settled({ lastFull: recordOf(2, 1, 'a') })).toBe('done')
  expect(await settled({ lastFull: recordOf(2, 1, 'a'), ended: expired }, refused())).toBe('done')
  expect(await settled({}, new Failure('retry', 'network', 'away'))).toBe('queued')
  expect(await settled({}, refused())).toBe(`left_out: ${noLongerKept}`)
  expect(await settled({}, refused('2026-11-21T00:00:00Z'))).toBe(`left_out: ${noLongerKept}`)
  // By the API's clock the day has not begun.
  expect(await settled({}, refused('2026-11-17T23:59:59Z'))).toBe('queued')
  expect(await settled({ ended: expired })).toBe(`left_out: ${noLongerKept}`)
  // It had expired before, and is being read all the same.
  expect(await settled({ full: sweepOf(2, 1, 'a'), ended: expired }, undefined, { ended: expired })).toBe(
    'queued',
  )
})

test('settles with each plan what nobody settled after it was served', async () => {
  const store = await storeWith({ lastFull: recordOf(2, 1, 'a') })
  const checkpoint = await store.read(stream)
  const planned = { stream, wish, checkpoint, lane: 'backfill' } as PlannedStream
  await settleServed(store, [
    { ...planned, lane: 'live' },
    { ...planned, wish: { id: 'b' } },
  ])
  expect(await store.backfills()).toMatchObject([{ state: 'running' }])
  await settleServed(store, [planned])
  expect(await store.backfills()).toMatchObject([{ state: 'done', streams: [{ state: 'done' }] }])
})
