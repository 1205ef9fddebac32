import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Cursor } from '../../../src/domain/scan/page.ts'
import { maxEmptyPages } from '../../../src/domain/policy.ts'
import { advanceScan, type ScanStep } from '../../../src/domain/scan/scan.ts'
import { at, buildFacts, buildScan, cursorAt, minuteMs } from '../builders.ts'

const noTest = { order: 'unknown', polled: null } as const

/** Reads pages by their cursors until the scan ends, or 10,000 were read. */
function readAll(nextOf: (cursor: Cursor | null, pages: number) => Cursor | null): ScanStep {
  let scan = buildScan()
  for (let pages = 0; pages < 10_000; pages++) {
    const { cursor } = scan
    const step = advanceScan(scan, buildFacts({ cursor, next: nextOf(cursor, pages) }), noTest)
    if (step.end !== 'none') return step
    scan = step.scan
  }
  throw new Error('read 10,000 pages without an end')
}

/** Reads a listing in which only the pages that `hasEvents` names have any, until the scan ends. */
function readEmpty(hasEvents: (page: number) => boolean): { end: string; pages: number } {
  let scan = buildScan()
  for (let page = 0; page < 3 * maxEmptyPages; page++) {
    const events = hasEvents(page) ? 1 : 0
    const facts = buildFacts({ cursor: scan.cursor, next: cursorAt(page), events })
    const step = advanceScan(scan, facts, noTest)
    scan = step.scan
    if (step.end !== 'none') return { end: step.end, pages: scan.pages }
  }
  return { end: 'still going', pages: scan.pages }
}

/** Reads pages under ever new tokens, each of which begins as named, until the scan ends; at most 20,000. */
function readPages(beginningOf: (page: number) => readonly string[], unseenOf = (_page: number) => 0) {
  let scan = buildScan()
  for (let page = 0; page < 20_000; page++) {
    const head = beginningOf(page)
    const read = { head: [...head], events: head.length, unseen: unseenOf(page) }
    const step = advanceScan(scan, buildFacts({ cursor: scan.cursor, next: cursorAt(page), ...read }), noTest)
    scan = step.scan
    if (step.end !== 'none') return { end: step.end, pages: scan.pages }
  }
  return { end: 'still going', pages: scan.pages }
}

describe('a scan', () => {
  it('finds every circle of pages under new tokens, with empty pages and news between them', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 300 }),
        fc.integer({ min: 1, max: 300 }),
        fc.nat({ max: 2 }),
        (way, round, empty) => {
          const listing = (page: number) => {
            const at = Math.floor(page / (empty + 1))
            if (page % (empty + 1) !== 0) return []
            return at < way ? [`way ${at}`] : [`round ${(at - way) % round}`, 'x']
          }
          // The end of the circle shows what has happened since.
          const news = (page: number) =>
            Number(Math.floor(page / (empty + 1) - way) % round === round - 1 && round > 1)
          const { end, pages } = readPages(listing, news)
          expect(end).toBe('page_repeated')
          expect(pages).toBeLessThanOrEqual((14 * Math.max(way + 1, round) + 14) * (empty + 1))
        },
      ),
    )
  })

  it.each<[string, (page: number) => readonly string[]]>([
    ['thousands of small pages', (page) => [`e${page}`]],
    ['pages that are shown four times each', (page) => [`e${Math.floor(page / 4)}`, 'x']],
    ['pages that overlap', (page) => [`e${page}`, `e${page + 1}`, `e${page + 2}`]],
    ['a flood of one event', () => ['e', 'e']],
  ])('reads on over %s', (_, beginningOf) => {
    expect(readPages(beginningOf).end).toBe('still going')
  })

  it('reads on over pages that begin alike and have news', () => {
    expect(
      readPages(
        () => ['a', 'b'],
        () => 1,
      ).end,
    ).toBe('still going')
  })

  it('finds every cycle of cursors, within three times the pages before and in it', () => {
    fc.assert(
      fc.property(fc.nat({ max: 300 }), fc.integer({ min: 1, max: 300 }), (way, round) => {
        const step = readAll((_, pages) =>
          cursorAt(pages < way ? `way ${pages}` : `round ${(pages - way) % round}`),
        )
        expect(step.end).toBe(round === 1 ? 'cursor_repeated' : 'cursor_cycle')
        expect(step.scan.pages).toBeLessThanOrEqual(3 * Math.max(way + 1, round) + 2)
      }),
    )
  })

  it('ends if more pages are announced without a cursor', () => {
    expect(readAll((_, pages) => (pages < 5 ? cursorAt(pages) : null)).end).toBe('cursor_missing')
  })

  it('accepts thousands of empty pages in a row, but not without end', () => {
    const { end, pages } = readEmpty((page) => page === 0)
    expect(end).toBe('empty_pages')
    expect(pages).toBe(maxEmptyPages + 2)
    expect(maxEmptyPages).toBeGreaterThanOrEqual(5_000)
    expect(readEmpty((page) => page % maxEmptyPages === 0).end).toBe('still going')
  })

  describe('of a newest-first listing', () => {
    const overlapStartMs = at(10)
    const incremental = buildScan({ kind: 'incremental', overlapStartMs, owed: ['a', 'b'] })
    const newestFirst = { order: 'newest-first', polled: null } as const
    const old = { latestMs: overlapStartMs - 1, oldestMs: at(9), newestMs: overlapStartMs - 1 }

    it('ends after the newest known event, at a page with nothing new and nothing recent', () => {
      const mark = advanceScan(incremental, buildFacts({ latestMs: at(11) }), newestFirst)
      expect(mark.end).toBe('none')
      const cursor = mark.scan.cursor
      expect(advanceScan(mark.scan, buildFacts({ ...old, cursor, next: cursorAt(2) }), newestFirst).end).toBe(
        'complete',
      )
    })

    it.each([
      ['before each event of the mark was met', { ...old, owed: ['b'] }],
      ['at a page with something new', { ...old, unseen: 1 }],
      ['at a page within the overlap', { ...old, latestMs: overlapStartMs }],
      ['at a page that nobody can date', { latestMs: null }],
    ])('goes on %s', (_, facts) => {
      expect(advanceScan(incremental, buildFacts(facts), newestFirst).end).toBe('none')
    })

    it('still reads a full scan to its end', () => {
      const full = buildScan({ overlapStartMs, owed: ['a'] })
      expect(advanceScan(full, buildFacts(old), newestFirst).end).toBe('none')
    })
  })

  it('takes its mark from its first page that is not empty: more would lie behind the end of short listings', () => {
    const heads = [[], ['a', 'b'], ['c']]
    const read = heads.reduce(
      (scan, head) => advanceScan(scan, buildFacts({ head }), noTest).scan,
      buildScan(),
    )
    expect(read.head).toEqual(['a', 'b'])
  })

  it('counts its events, and those that incremental scans would have read', () => {
    const page = fc.record({
      unseen: fc.nat({ max: 3 }),
      minutes: fc.option(fc.integer({ min: -120, max: 120 })),
      isMet: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(page, { minLength: 1, maxLength: 20 }), (pages) => {
        const overlapStartMs = at(12)
        const isOld = (minutes: number | null) => minutes !== null && minutes < 0
        let scan = buildScan({ overlapStartMs, owed: ['a'] })
        for (const [index, { unseen, minutes, isMet }] of pages.entries()) {
          const latestMs = minutes === null ? null : overlapStartMs + minutes * minuteMs
          const facts = {
            cursor: scan.cursor,
            next: cursorAt(index),
            unseen,
            latestMs,
            owed: isMet ? [] : [...scan.owed!],
          }
          scan = advanceScan(scan, buildFacts(facts), noTest).scan
        }
        const sum = (some: typeof pages) => some.map(({ unseen }) => unseen).reduce((a, b) => a + b, 0)
        const lastOld = pages.findLastIndex(({ minutes }) => isOld(minutes))
        const met = pages.findIndex(({ isMet }) => isMet)
        const past = pages.findIndex(
          ({ unseen, minutes }, index) => met !== -1 && index >= met && unseen === 0 && isOld(minutes),
        )
        expect(scan).toMatchObject({ pages: pages.length, found: sum(pages), tookMs: pages.length * 100 })
        expect(scan.foundAtTail).toBe(sum(pages.slice(Math.max(0, lastOld))))
        expect(scan.foundAtHead).toBe(sum(past === -1 ? pages : pages.slice(0, past)))
      }),
    )
  })
})
