import { expect, onTestFinished, test } from 'vitest'
import { whileRequested } from '../../../src/maintenance/backfill/while-requested.ts'
import { openMemoryStore } from '../../setup/stores.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { nowMs, streamOf } from './backfill-checkpoints.ts'

const stream = streamOf(1, '2026-11-18', 'siem')
const planned = { stream, priority: 'backfill', readRequest: { id: 'a' } } as const

test.for(['paused', 'cancelled'] as const)('work on a stream ends once its backfill is %s', async (state) => {
  const clock = createFakeClock(nowMs)
  const store = await openMemoryStore({ clock, deadLetterMaxBytes: 1 })
  onTestFinished(() => store.close())
  const streams = [{ stream, state: 'queued' }] as const
  await store.backfills.add({
    id: 'a',
    createdAtMs: 1,
    from: stream.day,
    to: stream.day,
    state: 'running',
    streams,
  })
  await whileRequested(planned, { store, clock }, async (isRequested) => {
    await clock.advance(2_000)
    expect(isRequested()).toBe(true)
    await store.backfills.setState('a', state)
    await clock.advance(2_000)
    await waitFor(() => !isRequested(), { what: 'the end of the work', everyMs: 1 })
  })
})
