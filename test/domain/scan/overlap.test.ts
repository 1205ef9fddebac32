import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { StoredCursor } from '../../../src/domain/checkpoint.ts'
import { cursorBefore, rememberCursor } from '../../../src/domain/scan/progress.ts'
import { cursorAt, minuteMs } from '../builders.ts'

/** A listing in the order of time: its pages, each with the times of its events in ms. */
const listing = fc
  .array(fc.nat({ max: 24 * 60 * minuteMs }), { minLength: 1, maxLength: 400 })
  .map((times) => times.toSorted((left, right) => left - right))

function pagesOf(times: readonly number[], size: number): number[][] {
  const pages: number[][] = []
  for (let from = 0; from < times.length; from += size) pages.push(times.slice(from, from + size))
  return pages
}

function readListing(
  pages: readonly number[][],
  overlapMs: number,
  before: readonly StoredCursor[] = [],
): readonly StoredCursor[] {
  let stored = before
  for (const [index, page] of pages.entries()) {
    const cursor = index === 0 ? null : cursorAt(index)
    stored = rememberCursor(stored, { cursor, newestMs: page.at(-1) ?? null }, overlapMs)
  }
  return stored
}

const sizes = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 3 })

describe('stored cursors', () => {
  it('are at most 24, in order, a minute apart at least, and safe to start from, however often a listing is read', () => {
    fc.assert(
      fc.property(
        listing,
        sizes,
        fc.nat({ max: 24 * 60 * minuteMs }),
        fc.nat({ max: 3_600_000 }),
        (times, sizes, overlapStartMs, overlapMs) => {
          let stored: readonly StoredCursor[] = []
          for (const size of sizes) stored = readListing(pagesOf(times, size), overlapMs, stored)
          expect(stored.length).toBeLessThanOrEqual(24)
          const slots = stored.map(({ newestMs }) => Math.floor(newestMs / minuteMs))
          expect(slots).toEqual([...new Set(slots)].toSorted((left, right) => left - right))
          const pages = pagesOf(times, sizes[0]!)
          const cursor = cursorBefore(readListing(pages, overlapMs), overlapStartMs)
          const skipped = cursor === null ? [] : pages.slice(0, Number(cursor)).flat()
          expect(skipped.filter((time) => time >= overlapStartMs)).toEqual([])
        },
      ),
    )
  })

  it('start a stream with steady events within four minutes of the overlap, for any content of the day', () => {
    const times = Array.from({ length: 14_400 }, (_, index) => index * 6_000)
    const pages = pagesOf(times, 20)
    const overlapStartMs = 14_399 * 6_000 - 10 * minuteMs
    const cursor = cursorBefore(readListing(pages, 10 * minuteMs), overlapStartMs)
    const skipped = pages.slice(0, Number(cursor)).flat()
    expect(overlapStartMs - skipped.at(-1)!).toBeLessThanOrEqual(4 * minuteMs)
  })

  it('are never from a first page, nor from one without event times', () => {
    expect(rememberCursor([], { cursor: null, newestMs: 1 }, 0)).toEqual([])
    expect(rememberCursor([], { cursor: cursorAt(1), newestMs: null }, 0)).toEqual([])
    expect(cursorBefore([{ cursor: cursorAt(1), newestMs: 5 }], null)).toBeNull()
  })
})
