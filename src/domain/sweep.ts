import type { Guard } from './happening.ts'
import type { Cursor } from './page.ts'
import { liesBefore, type PageFacts } from './page-facts.ts'
import { maxEmptyPages, maxPagesPerSweep } from './policy.ts'
import type { ListingOrder } from './listing-order.ts'

/**
 * `full` reads from the first page to the last; `partial` only where new events are expected; `archive` reads files of
 * another sink in place of the API.
 */
export type SweepKind = 'full' | 'partial' | 'archive'

/** An unfinished sweep. It outlives its pump: the next one continues at `cursor`. */
export interface Sweep {
  readonly kind: SweepKind
  /** When its first request was sent. */
  readonly beganAtMs: number
  /** Opens the next page to read; null for the first page. */
  readonly cursor: Cursor | null
  /** It began at a stored cursor, not at the first page. */
  readonly fromStoredCursor: boolean
  readonly pages: number
  readonly emptyPages: number
  /** Time that fetching its pages took; deliveries, and waits between pumps, are left out. */
  readonly tookMs: number
  /** One cursor remembered to see a cycle, replaced at each power of two of `pages`. */
  readonly remembered: Cursor | null
  /** Events older than this were known before the previous sweep began: outside the overlap. Null: nothing is. */
  readonly overlapStartMs: number | null
  /** Newest event time known when it began: the next sweep's overlap counts from it. */
  readonly newestAtBeginMs: number | null
  /** Unseen events that it found. */
  readonly found: number
  /** Of those, how many lay where an oldest-first or a newest-first partial sweep would have looked. */
  readonly foundAtTail: number
  readonly foundAtHead: number
  /** How many pages those would have read. */
  readonly tailPages: number
  readonly headPages: number
  /** Of those, how many the latest partial sweep should have found. */
  readonly missed: number
  readonly markMet: boolean
  /** A newest-first partial sweep would have stopped before the next page. */
  readonly pastHead: boolean
  /** Fingerprints (hex) of its first page: the next mark. */
  readonly head: readonly string[]
  /** The person's wish that it began for. */
  readonly wish?: string
}

/** What remains of a complete sweep. */
export interface SweepRecord {
  readonly beganAtMs: number
  readonly endedAtMs: number
  readonly tookMs: number
  readonly pages: number
  readonly found: number
  readonly newestAtBeginMs: number | null
  readonly wish?: string
}

/** A sweep before its first page. It may begin at a stored cursor; null begins at the first page. */
export function beginSweep(
  start: Pick<Sweep, 'kind' | 'beganAtMs' | 'cursor' | 'overlapStartMs' | 'newestAtBeginMs' | 'wish'>,
): Sweep {
  return {
    ...start,
    fromStoredCursor: start.cursor !== null,
    pages: 0,
    emptyPages: 0,
    tookMs: 0,
    remembered: null,
    found: 0,
    foundAtTail: 0,
    foundAtHead: 0,
    tailPages: 0,
    headPages: 0,
    missed: 0,
    markMet: false,
    pastHead: false,
    head: [],
  }
}

export type SweepStep =
  | { readonly end: 'none' | 'complete'; readonly sweep: Sweep }
  | { readonly end: Guard; readonly sweep: Sweep }

/** Event times between which partial sweeps should have found what is there. */
export interface PolledSpan {
  readonly fromMs: number
  readonly beforeMs: number
}

/** The sweep after one more page: it goes on, is complete, or ends incomplete at a guard. */
export function advanceSweep(
  sweep: Sweep,
  facts: PageFacts,
  test: { readonly order: ListingOrder; readonly polled: PolledSpan | null },
): SweepStep {
  const { polled } = test
  const pages = sweep.pages + 1
  const markMet = sweep.markMet || facts.markMet
  // A partial sweep of an oldest-first listing would start at the last page that lies wholly before the overlap.
  const isWhollyOld = liesBefore(facts, sweep.overlapStartMs)
  const next: Sweep = {
    ...sweep,
    cursor: facts.next,
    pages,
    emptyPages: facts.events === 0 ? sweep.emptyPages + 1 : 0,
    tookMs: sweep.tookMs + facts.tookMs,
    remembered: isPowerOfTwo(pages) ? facts.cursor : sweep.remembered,
    found: sweep.found + facts.unseen,
    foundAtTail: (isWhollyOld ? 0 : sweep.foundAtTail) + facts.unseen,
    tailPages: (isWhollyOld ? 0 : sweep.tailPages) + 1,
    foundAtHead: sweep.foundAtHead + (sweep.pastHead ? 0 : facts.unseen),
    headPages: sweep.headPages + (sweep.pastHead ? 0 : 1),
    missed: sweep.missed + countWithin(facts.unseenTimesMs, polled),
    markMet,
    // "All seen" alone would stop too early: a list that shifts shows this very sweep's events again.
    pastHead: sweep.pastHead || (markMet && facts.unseen === 0 && isWhollyOld),
    head: sweep.pages === 0 ? facts.head : sweep.head,
  }
  if (!facts.more) return { end: 'complete', sweep: next }
  if (sweep.kind === 'partial' && test.order === 'newest-first' && next.pastHead) {
    return { end: 'complete', sweep: next }
  }
  return { end: guardOf(sweep, next, facts) ?? 'none', sweep: next }
}

/** The sweep after some unseen events of a page that it has to read again: they will be seen by then. */
export function findPart(
  sweep: Sweep,
  part: { readonly events: number; readonly timesMs: readonly number[] },
  polled: PolledSpan | null,
): Sweep {
  return {
    ...sweep,
    found: sweep.found + part.events,
    foundAtTail: sweep.foundAtTail + part.events,
    foundAtHead: sweep.foundAtHead + (sweep.pastHead ? 0 : part.events),
    missed: sweep.missed + countWithin(part.timesMs, polled),
  }
}

function guardOf(before: Sweep, next: Sweep, facts: PageFacts): Guard | undefined {
  if (facts.next === null) return 'cursor_missing'
  if (facts.next === facts.cursor) return 'cursor_repeated'
  if (facts.next === before.remembered) return 'cursor_cycle'
  if (next.emptyPages > maxEmptyPages) return 'empty_pages'
  return next.pages >= maxPagesPerSweep ? 'too_many_pages' : undefined
}

function countWithin(timesMs: readonly number[], span: PolledSpan | null): number {
  if (span === null) return 0
  return timesMs.filter((timeMs) => span.fromMs <= timeMs && timeMs < span.beforeMs).length
}

function isPowerOfTwo(value: number): boolean {
  return (value & (value - 1)) === 0
}
