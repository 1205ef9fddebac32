import { expect, test } from 'vitest'
import { Failure } from '../../src/domain/failure.ts'
import type { PageContent } from '../../src/domain/scan/page.ts'
import { readDay } from '../../src/days/read-day.ts'
import { day, listing, never, zone } from '../tasks/audit/listing.ts'

async function idsOf(pages: AsyncIterable<PageContent>): Promise<string[]> {
  const ids: string[] = []
  for await (const { events } of pages) ids.push(...events.map(({ id }) => id))
  return ids
}

test('releases each page before it requests the next one, also when it ends early', async () => {
  const { deps, held, requests } = listing(3)
  const most: number[] = []
  for await (const _ of readDay({ zone, day }, deps, never)) most.push(held())
  expect([most, held()]).toEqual([[1, 1, 1], 0])
  for await (const _ of readDay({ zone, day }, deps, never)) break
  expect(held()).toBe(0)
  expect(requests()).toBe(4)
})

test('fails at once if nothing was read, and retries later', async () => {
  const broken = new Failure('retry', 'network', 'reset')
  await expect(idsOf(readDay({ zone, day }, listing(3, { 1: broken }).deps, never))).rejects.toBe(broken)
  const later = listing(3, { 2: broken, 3: broken, 5: broken })
  expect(await idsOf(readDay({ zone, day }, later.deps, never))).toHaveLength(6)
  const gone = listing(3, { 2: broken, 3: broken, 4: broken, 5: broken })
  await expect(idsOf(readDay({ zone, day }, gone.deps, never))).rejects.toBe(broken)
})

test('reads past thousands of empty pages in a row', async () => {
  const { deps, requests } = listing(6_000, {}, (page) => page > 1 && page < 6_000)
  expect(await idsOf(readDay({ zone, day }, deps, never))).toHaveLength(4)
  expect(requests()).toBe(6_000)
})

test('waits as long as requested, up to a limit, and ends with its signal', async () => {
  const { clock, deps } = listing(1, {
    1: new Failure('wait', 'throttled', 'later', { retryAt: Date.parse('2026-11-20T12:00:40.000Z') }),
  })
  expect(await idsOf(readDay({ zone, day }, deps, never))).toHaveLength(2)
  expect(clock.now()).toBeGreaterThanOrEqual(Date.parse('2026-11-20T12:00:40.000Z'))
  const muchLater = new Failure('wait', 'throttled', 'later', {
    retryAt: Date.parse('2026-11-20T13:00:00.000Z'),
  })
  await expect(idsOf(readDay({ zone, day }, listing(1, { 1: muchLater }).deps, never))).rejects.toBe(
    muchLater,
  )
  const stopped = AbortSignal.abort()
  const { deps: others } = listing(2, { 2: new Failure('retry', 'network', 'reset') })
  await expect(idsOf(readDay({ zone, day }, others, stopped))).rejects.toThrow()
})
