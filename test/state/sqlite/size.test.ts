import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { openSqliteStore } from '../../setup/stores.ts'
import type { Store } from '../../../src/ports/store.ts'
import {
  buildCheckpoint,
  buildCommit,
  buildHolder,
  buildStream,
  nothingOld,
} from '../../contract/checkpoint-store/builders.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { temporaryFolder } from '../../setup/temp.ts'

const stream = buildStream()
const holder = buildHolder('one')
const firstMinute = 29_915_520
const newPath = () => join(temporaryFolder(), 'store.db')
const openAt = (path: string) =>
  openSqliteStore({ path, clock: createFakeClock(), deadLetterMaxBytes: 1_000 })

/** One day of events. `minuteAt` says in which minute of the day the nth event lies. */
async function fillDay(
  store: Store,
  events: number,
  minuteAt: (event: number) => number,
  pageEvents = 1000,
): Promise<void> {
  const { fence, checkpoint } = await store.ledger.take(stream, holder)
  let number = checkpoint?.commit ?? 0
  for (let from = 0; from < events; from += pageEvents) {
    const counts = new Map<number, number>()
    for (let event = from; event < Math.min(events, from + pageEvents); event++) {
      const minute = firstMinute + minuteAt(event)
      counts.set(minute, (counts.get(minute) ?? 0) + 1)
    }
    const seen = new Map([...counts].map(([minute, count]) => [minute, randomBytes(count * 8)] as const))
    expect(await store.ledger.commit(buildCommit(stream, fence, number++, { seen }))).toBe('done')
  }
  await store.ledger.release(stream, fence)
}

function bytesOf(path: string): number {
  using database = new DatabaseSync(path)
  const pages = database.prepare('PRAGMA page_count').get()?.['page_count']
  const size = database.prepare('PRAGMA page_size').get()?.['page_size']
  return Number(pages) * Number(size)
}

const inOrder = (events: number) => (event: number) => Math.floor((event * 1440) / events)
/** Spreads 0, 1, 2 … over all the events, in an order that repeats and looks like none. */
const scattered = (events: number) => (event: number) =>
  Math.floor((((event * 7_919) % events) * 1440) / events)

describe('a store', () => {
  it.each([
    ['a million events in order', 1_000_000, inOrder(1_000_000)],
    ['as many as leave pages emptiest, in order', 400_000, inOrder(400_000)],
    ['a hundred thousand in order', 100_000, inOrder(100_000)],
    ['a hundred thousand, newest first', 100_000, (event: number) => 1439 - inOrder(100_000)(event)],
    ['a hundred thousand in no order', 100_000, scattered(100_000)],
  ])('needs at most 12 bytes per event for %s', async (_, events, minuteAt) => {
    const path = newPath()
    const store = await openAt(path)
    await fillDay(store, events, minuteAt)
    expect(bytesOf(path) / events).toBeLessThanOrEqual(12)
    await store.close()
  })

  // What a process reads is counted by Linux alone.
  it.runIf(existsSync('/proc/self/io'))(
    'reads equally little of a million seen events and of a thousand',
    async () => {
      const readOf = async (events: number): Promise<number> => {
        const path = newPath()
        const filled = await openAt(path)
        await fillDay(filled, events, inOrder(events), 20_000)
        const { fence, checkpoint } = await filled.ledger.take(stream, holder)
        const seen = new Map([[firstMinute + 2000, randomBytes(800)]])
        await filled.ledger.commit(buildCommit(stream, fence, checkpoint?.commit ?? 0, { seen }))
        await filled.close()
        const store = await openAt(path)
        await store.ledger.read(stream)
        const before = bytesRead()
        expect((await store.ledger.loadSeen(stream, [firstMinute + 2000, firstMinute + 2001])).size).toBe(1)
        const read = bytesRead() - before
        await store.close()
        return read
      }
      const [few, many] = [await readOf(1_000), await readOf(1_000_000)]
      expect(few).toBeGreaterThan(0)
      // One level more of the index and of the table, at 4 KiB a page.
      expect(many - few).toBeLessThanOrEqual(3 * 4096)
    },
  )

  it('shrinks when days are pruned, and keeps nothing of them', async () => {
    const path = newPath()
    const store = await openAt(path)
    await fillDay(store, 1_000_000, inOrder(1_000_000), 20_000)
    const full = bytesOf(path)
    const { fence, checkpoint } = await store.ledger.take(stream, holder)
    const commit = checkpoint?.commit ?? 0
    const next = buildCheckpoint(stream, commit + 1, { ended: { as: 'complete', atMs: 5 } })
    await store.ledger.commit(buildCommit(stream, fence, commit, { next }))
    await store.ledger.release(stream, fence)
    await store.upkeep.prune([stream], nothingOld)
    await store.close()
    using database = new DatabaseSync(path)
    const left = 'SELECT DISTINCT name FROM collection JOIN record ON collection = id ORDER BY name'
    expect(database.prepare(left).all()).toEqual([{ name: 'holders' }, { name: 'store' }])
    // Some free pages stay for the next day.
    expect(statSync(path).size).toBeLessThan(full / 1.8)
  })

  it('shrinks when fingerprints are forgotten', async () => {
    const path = newPath()
    const store = await openAt(path)
    await fillDay(store, 1_000_000, inOrder(1_000_000), 20_000)
    const full = bytesOf(path)
    await store.upkeep.dropIndex(stream)
    expect(bytesOf(path)).toBeLessThan(full / 1.8)
    expect(await store.ledger.minutes(stream)).toHaveLength(1440)
    await store.close()
  })
})

function bytesRead(): number {
  return Number(/^rchar: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
}
