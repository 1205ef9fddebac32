import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { openSqliteStore } from '../../setup/stores.ts'
import { commitOnce, complete, nothingOld } from '../../contract/checkpoint-store/builders.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { temporaryFolder } from '../../setup/temp.ts'
import { fillDay, firstMinute, inOrder, newestFirst, scattered, stream } from '../filled-day.ts'

const newPath = () => join(temporaryFolder(), 'store.db')
const openAt = (path: string) =>
  openSqliteStore({ path, clock: createFakeClock(), deadLetterMaxBytes: 1_000 })

function bytesOf(path: string): number {
  using database = new DatabaseSync(path)
  const pages = database.prepare('PRAGMA page_count').get()?.['page_count']
  const size = database.prepare('PRAGMA page_size').get()?.['page_size']
  return Number(pages) * Number(size)
}

describe('a store', () => {
  it.each([
    ['a million events in order', 1_000_000, inOrder(1_000_000)],
    ['as many as leave pages emptiest, in order', 400_000, inOrder(400_000)],
    ['a hundred thousand in order', 100_000, inOrder(100_000)],
    ['a hundred thousand, newest first', 100_000, newestFirst(100_000)],
    ['a hundred thousand in no order', 100_000, scattered(100_000)],
  ])('needs at most 12 bytes per event for %s', async (_, events, minuteAt) => {
    const path = newPath()
    const store = await openAt(path)
    await fillDay(store, stream, events, minuteAt, 1_000)
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
        await fillDay(filled, stream, events, inOrder(events))
        await commitOnce(filled, stream, { seen: new Map([[firstMinute + 2000, randomBytes(800)]]) })
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

  it('shrinks when fingerprints are forgotten and when days are pruned, of which it keeps that they were shipped', async () => {
    const path = newPath()
    const store = await openAt(path)
    await fillDay(store, stream, 1_000_000, inOrder(1_000_000))
    const full = bytesOf(path)
    await store.upkeep.dropIndex(stream)
    // Some free pages stay for the next day.
    expect(bytesOf(path)).toBeLessThan(full / 1.8)
    expect(await store.ledger.minutes(stream)).toHaveLength(1440)
    await commitOnce(store, stream, { with: complete })
    await store.upkeep.prune([stream], nothingOld)
    await store.close()
    using database = new DatabaseSync(path)
    const left = 'SELECT DISTINCT name FROM collection JOIN record ON collection = id ORDER BY name'
    expect(database.prepare(left).all()).toEqual([{ name: 'holders' }, { name: 'pruned' }, { name: 'store' }])
    expect(statSync(path).size).toBeLessThan(full / 1.8)
  })
})

function bytesRead(): number {
  return Number(/^rchar: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
}
