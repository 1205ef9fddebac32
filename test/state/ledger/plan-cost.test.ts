import { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { streamKey } from '../../../src/domain/stream.ts'
import type { Records } from '../../../src/ports/records.ts'
import type { Store } from '../../../src/ports/store.ts'
import { openLedger } from '../../../src/state/ledger/store.ts'
import { openMemoryRecords } from '../../../src/state/sqlite/records.ts'
import { buildStream, commitOnce } from '../../contract/checkpoint-store/builders.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { openMemoryStore } from '../../setup/stores.ts'

const clock = createFakeClock()

const complete = (store: Store, zone: number) => commitOnce(store, buildStream({ zone }))

/** A store of another process, with a count of the records that it reads. */
async function openCounted(
  handle: DatabaseSync,
): Promise<{ readonly store: Store; readonly count: () => number }> {
  const records = await openMemoryRecords(clock, handle)
  let count = 0
  const read: Records['read'] = async (asked) => {
    const answer = await records.read(asked)
    count += Object.values<readonly unknown[]>(answer.found)
      .flat()
      .filter((each) => each !== undefined).length
    return answer
  }
  const store = await openLedger({
    records: { ...records, read },
    clock,
    deadLetterMaxBytes: 1,
    place: 'memory',
  })
  return { store, count: () => count }
}

it('a plan reads only what changed since the previous plan, also by another process', async () => {
  const handle = new DatabaseSync(':memory:')
  const store = await openMemoryStore({ clock, deadLetterMaxBytes: 1, handle })
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
  const { store: other, count } = await openCounted(handle)
  const before = new Map((await other.catalogue.checkpoints()).map((each) => [streamKey(each.stream), each]))
  expect(before.size).toBe(100)
  const ended = await other.backfills.list()
  expect(ended.flatMap(({ streams }) => streams)).toHaveLength(500)

  const quiet = count()
  await other.catalogue.checkpoints()
  expect(await other.backfills.list()).toEqual(ended)
  // The record of the store, twice.
  expect(count() - quiet).toBe(2)

  await complete(store, 7)
  const changed = count()
  for (const checkpoint of await other.catalogue.checkpoints()) {
    if (checkpoint.stream.zone === 7) expect(checkpoint.commit).toBe(2)
    else expect(checkpoint).toBe(before.get(streamKey(checkpoint.stream)))
  }
  expect(count() - changed).toBe(1 + 1)
})

it('the first list of many streams is read in steps between which the event loop turns', async () => {
  const handle = new DatabaseSync(':memory:')
  const store = await openMemoryStore({ clock, deadLetterMaxBytes: 1, handle })
  const atOnce = 64
  for (let zone = 1; zone <= atOnce * 3 + 1; zone++) await complete(store, zone)
  const { store: other, count } = await openCounted(handle)
  const listing = other.catalogue.checkpoints()
  const ended = listing.then(() => 'ended')
  let [before, most] = [count(), 0]
  while ((await Promise.race([ended, setImmediate('turned')])) === 'turned') {
    most = Math.max(most, count() - before)
    before = count()
  }
  expect(await listing).toHaveLength(atOnce * 3 + 1)
  // One more: the record of the store.
  expect(most).toBeLessThanOrEqual(atOnce + 1)
})
