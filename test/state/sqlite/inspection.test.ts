import { join } from 'node:path'
import { expect, it } from 'vitest'
import { inspectSqliteStore } from '../../../src/state/sqlite/inspection.ts'
import { openSqliteStore } from '../../../src/state/sqlite/store.ts'
import { buildHolder, buildStream } from '../../contract/checkpoint-store/builders.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { temporaryFolder } from '../../setup/temp.ts'

it('a report on a store names its size and who works on it', async () => {
  const path = join(temporaryFolder(), 'store.db')
  const clock = createFakeClock(1_000_000)
  await expect(inspectSqliteStore(path)).rejects.toMatchObject({ code: 'store_refuses' })
  const store = await openSqliteStore({ path, clock, deadLetterMaxBytes: 1 })
  await store.take(buildStream(), buildHolder('run', true))
  await store.take(buildStream({ zone: 102 }), buildHolder('run', true))
  await clock.advance(5)
  await store.heartbeat(buildHolder('backfill'))
  const report = await inspectSqliteStore(path)
  expect(report.holders).toEqual([
    { id: 'backfill', schedule: false, heardAtMs: 1_000_005, streams: 0 },
    { id: 'run', schedule: true, heardAtMs: 1_000_000, streams: 2 },
  ])
  expect(report.bytes).toBeGreaterThan(4096)
  expect(report.freeBytes).toBe(0)
  await store.close()
})
