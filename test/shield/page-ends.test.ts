import { expect, test } from 'vitest'
import type { Cursor } from '../../src/domain/scan/page.ts'
import { PageEnds } from '../../src/shield/event-logs.ts'

test('the ends of the latest pages are kept, however many entries they have, within one bound of entries', () => {
  const ends = new PageEnds()
  const endOf = (page: number) =>
    new Map(Array.from({ length: 100 }, (_, index) => [BigInt(page * 100 + index), new Set([`e${index}`])]))
  const cursors = Array.from({ length: 1_000 }, (_, page) => String(page) as Cursor)
  for (const [page, cursor] of cursors.entries()) {
    ends.keep('101/2026-11-20', cursor, endOf(page))
    // A page that is read again takes no more room.
    ends.keep('101/2026-11-20', cursor, endOf(page))
  }
  const kept = cursors.filter((cursor) => ends.before('101/2026-11-20', cursor) !== undefined)
  expect(kept).toEqual(cursors.slice(-200))
})
