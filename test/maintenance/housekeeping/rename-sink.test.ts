import { expect, onTestFinished, test } from 'vitest'
import { renameSink } from '../../../src/maintenance/housekeeping/rename-sink.ts'
import { openSqliteStore } from '../../../src/state/sqlite/store.ts'
import { policy, stream } from '../../domain/builders.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'

const never = new AbortController().signal

test('a sink cannot be renamed while a resend ships to it', async () => {
  const clock = createFakeClock(1)
  const store = await openSqliteStore({ path: ':memory:', clock, deadLetterMaxBytes: 1_000 })
  onTestFinished(() => store.close())
  const holder = { id: 'x', schedule: true }
  const deps = { store, clock, policy, holder, sink: undefined }
  const { day: from, day: to } = stream
  const streams = [{ stream, state: 'queued' }] as const
  await store.backfills.add({ id: 'b1', createdAtMs: 1, from, to, state: 'paused', streams, resend: true })
  await store.ledger.take(stream, holder)
  await expect(renameSink('archive', 'siem', deps, never)).rejects.toMatchObject({
    code: 'store_refuses',
    message:
      'backfill b1 (--resend) still ships to archive: wait until it ends, or end it: backfill cancel b1',
  })
  expect(await renameSink('another', 'siem', deps, never)).toBe(0)
  await store.backfills.setState('b1', 'cancelled')
  await store.ledger.release(stream, (await store.ledger.take(stream, holder)).fence)
  expect(await renameSink('archive', 'siem', deps, never)).toBe(1)
})
