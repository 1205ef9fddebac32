import { expect, onTestFinished, test } from 'vitest'
import type { BackfillState } from '../../../src/domain/plan/backfill.ts'
import { whileRequested } from '../../../src/maintenance/backfill/while-requested.ts'
import { openSqliteStore } from '../../../src/state/sqlite/store.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { checkpointOf, nowMs, streamOf } from './backfill-checkpoints.ts'

const live = streamOf(1, '2026-11-18', 'siem')
const planned = {
  stream: { ...live, resend: 'a' },
  priority: 'backfill',
  readRequest: { id: 'a' },
} as const

async function resending(state: BackfillState) {
  const clock = createFakeClock(nowMs)
  const store = await openSqliteStore({ path: ':memory:', clock, deadLetterMaxBytes: 1 })
  onTestFinished(() => store.close())
  const { day: from, day: to } = live
  const streams = [{ stream: live, state: 'queued' }] as const
  await store.backfills.add({ id: 'a', createdAtMs: 1, from, to, state, streams, resend: true })
  /** As a pump does it. */
  const begin = async () => {
    const { fence } = await store.ledger.take(planned.stream, { id: 'x', schedule: true })
    const next = checkpointOf(planned.stream, {})
    return store.ledger.commit({ fence, basedOn: 0, next, seen: new Map(), deadLetters: [], gaps: [] })
  }
  return { store, clock, begin, left: () => store.catalogue.resendCheckpoints() }
}

test.for(['paused', 'cancelled'] as const)('does not begin a resend that is %s meanwhile', async (state) => {
  const { store, clock } = await resending(state)
  let begun = 0
  await whileRequested(planned, { store, clock }, async () => begun++)
  expect(begun).toBe(0)
})

test('leaves nothing of a resend that was cancelled just before a pump began', async () => {
  const { store, clock, begin, left } = await resending('running')
  await whileRequested(planned, { store, clock }, async () => {
    await store.backfills.setState('a', 'cancelled')
    await store.upkeep.dropEndedResends()
    expect(await begin()).toBe('done')
    expect(await left()).toHaveLength(1)
  })
  expect(await left()).toEqual([])
})

test('keeps the streams of a resend while it runs or is paused', async () => {
  const { store, clock, begin, left } = await resending('running')
  await whileRequested(planned, { store, clock }, begin)
  await store.backfills.setState('a', 'paused')
  expect(await left()).toHaveLength(1)
})
