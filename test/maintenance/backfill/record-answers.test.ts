import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { Backfilled } from '../../../src/domain/plan/backfill.ts'
import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import type { PlannedStream } from '../../../src/domain/plan/plan.ts'
import type { Store } from '../../../src/ports/store.ts'
import { recordAnswer, recordAnswers } from '../../../src/maintenance/backfill/record-answers.ts'
import { openSqliteStore } from '../../../src/state/sqlite/store.ts'
import { checkpointOf, nowMs, streamOf } from './backfill-checkpoints.ts'

const stream = streamOf(1, '2026-11-18')
const readRequest = { id: 'a' }
async function storeWith(changes: Partial<Checkpoint>): Promise<Store> {
  const store = await openSqliteStore({ path: ':memory:', clock: systemClock, deadLetterMaxBytes: 1 })
  onTestFinished(() => store.close())
  const { fence } = await store.ledger.take(stream, { id: 'holder', schedule: true })
  const next = checkpointOf(stream, changes)
  await store.ledger.commit({ fence, basedOn: 0, next, seen: new Map(), deadLetters: [], gaps: [] })
  const { day } = stream
  const streams: Backfilled[] = [{ stream, state: 'queued' }]
  await store.backfills.add({ id: 'a', createdAtMs: nowMs, from: day, to: day, state: 'running', streams })
  return store
}

test('records an answer of a checkpoint in the backfill that asked, and no other', async () => {
  const store = await storeWith({ lastRequest: { id: 'a', outcome: 'left_out', reason: 'no longer kept' } })
  const checkpoint = await store.ledger.read(stream)
  const planned = { stream, readRequest, checkpoint, priority: 'backfill' } as PlannedStream
  await recordAnswers(store, [
    { ...planned, priority: 'live' },
    { ...planned, readRequest: { id: 'b' } },
  ])
  expect(await store.backfills.list()).toMatchObject([{ state: 'running' }])
  await recordAnswer(store, planned)
  const streams = [{ state: 'left_out', reason: 'no longer kept' }]
  expect(await store.backfills.list()).toMatchObject([{ state: 'done', streams }])
})
