import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { streamKey } from '../../../src/domain/stream.ts'
import type { Store } from '../../../src/ports/store.ts'
import { createBackfills } from '../../../src/state/sqlite/backfills.ts'
import { openDatabase, type Database } from '../../../src/state/sqlite/database/database.ts'
import { checkpointsAtOnce, createListing } from '../../../src/state/sqlite/listing.ts'
import { openSqliteStore } from '../../../src/state/sqlite/store.ts'
import {
  buildCheckpoint,
  buildCommit,
  buildHolder,
  buildStream,
} from '../../contract/checkpoint-store/builders.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { temporaryFolder } from '../../setup/temp.ts'

const holder = buildHolder('one')

async function complete(store: Store, zone: number): Promise<void> {
  const stream = buildStream({ zone })
  const { fence, checkpoint } = await store.ledger.take(stream, holder)
  const commit = checkpoint?.commit ?? 0
  const next = buildCheckpoint(stream, commit + 1, { ended: { as: 'complete', atMs: 5 } })
  await store.ledger.commit(buildCommit(stream, fence, commit, { next }))
}

/** The same database, with a count of the rows that were read. */
function counted(database: Database): { readonly database: Database; rows(): number } {
  let rows = 0
  return {
    database: {
      ...database,
      // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- as in the port
      one: <Row>(sql: string, ...values: (string | number)[]) => {
        rows++
        return database.one<Row>(sql, ...values)
      },
      all: <Row>(sql: string, ...values: (string | number)[]) => {
        const found = database.all<Row>(sql, ...values)
        rows += found.length
        return found
      },
    },
    rows: () => rows,
  }
}

it('a plan reads only what changed since the previous plan, also by another process', async () => {
  const path = join(temporaryFolder(), 'store.db')
  const store = await openSqliteStore({ path, clock: createFakeClock(), deadLetterMaxBytes: 1_000 })
  for (let zone = 1; zone <= 100; zone++) await complete(store, zone)
  const { day } = buildStream()
  for (let id = 1; id <= 10; id++) {
    const streams = Array.from({ length: 50 }, (_, zone) => ({
      stream: buildStream({ zone }),
      state: 'queued' as const,
    }))
    const backfill = { id: `b${id}`, createdAtMs: 1, from: day, to: day, state: 'running' as const, streams }
    await store.backfills.add(backfill)
    await store.backfills.setState(`b${id}`, 'cancelled')
  }
  const opened = await openDatabase(path)
  const { database, rows } = counted(opened)
  const [list, backfills] = [createListing(database), createBackfills(database)]
  const before = new Map((await list()).map((each) => [streamKey(each.stream), each]))
  expect(before.size).toBe(100)
  const ended = await backfills.list()
  expect(ended.flatMap(({ streams }) => streams)).toHaveLength(500)

  const quiet = rows()
  await list()
  expect(await backfills.list()).toEqual(ended)
  // The counters, and a row for each backfill.
  expect(rows() - quiet).toBe(1 + 10)

  await complete(store, 7)
  const changed = rows()
  for (const checkpoint of await list()) {
    if (checkpoint.stream.zone === 7) expect(checkpoint.commit).toBe(2)
    else expect(checkpoint).toBe(before.get(streamKey(checkpoint.stream)))
  }
  expect(rows() - changed).toBe(1 + 1)
  opened.close()
  await store.close()
})

it('the first list of many streams is read in steps between which the event loop turns', async () => {
  const path = join(temporaryFolder(), 'store.db')
  const store = await openSqliteStore({ path, clock: createFakeClock(), deadLetterMaxBytes: 1_000 })
  const count = checkpointsAtOnce * 3 + 1
  for (let zone = 1; zone <= count; zone++) await complete(store, zone)
  const opened = await openDatabase(path)
  const { database, rows } = counted(opened)
  const listing = createListing(database)()
  const ended = listing.then(() => 'ended')
  let [before, most] = [0, 0]
  while ((await Promise.race([ended, setImmediate('turned')])) === 'turned') {
    most = Math.max(most, rows() - before)
    before = rows()
  }
  expect(await listing).toHaveLength(count)
  // One more: the row of the counters.
  expect(most).toBeLessThanOrEqual(checkpointsAtOnce + 1)
  opened.close()
  await store.close()
})
