import { hash } from 'node:crypto'
import type { Cursor, PageFacts } from './page.ts'
import { maxEmptyPages, maxPagesPerScan } from '../policy.ts'

/** `full`: from the first page to the last; `incremental`: where new events are expected; `archive`: from files. */
export type ScanKind = 'full' | 'incremental' | 'archive'

/** Where a listing shows its new events, once evidence has confirmed it. */
export type ListingOrder = 'unknown' | 'oldest-first' | 'newest-first'

/** An unfinished scan. It outlives its pump: the next pump continues at `cursor`. */
export interface Scan {
  readonly kind: ScanKind
  /** When its first request was sent; where its first page came from a cache: when that page was made, at the earliest, */
  readonly beganAtMs: number
  /** and how long before the request that was; absent for 0. */
  readonly ageMs?: number
  /** Opens the next page to read; null for the first page. */
  readonly cursor: Cursor | null
  /** It began at a stored cursor, not at the first page. */
  readonly fromStoredCursor: boolean
  /** A page from a cache may be older than the page before it: what moved between the two is on neither. */
  readonly hasOlderPage?: boolean
  readonly pages: number
  readonly emptyPages: number
  /** Time that fetching its pages took; deliveries, and waits between pumps, are left out. */
  readonly tookMs: number
  /** The cursor that is remembered to notice a circle, replaced at each power of two of `pages`. */
  readonly remembered: Cursor | null
  /** Likewise how one page begins, of those that list events, and how often such a page came again without news. */
  readonly rememberedPage?: { readonly filled: number; readonly head: string; readonly again: number }
  /** Start of the overlap: older events were known before the previous scan began. Null: all events lie in it. */
  readonly overlapStartMs: number | null
  /** Newest event time known when it began: the next scan's overlap counts from it. */
  readonly newestAtBeginMs: number | null
  /** Unseen events that it found. */
  readonly found: number
  /** Of those, how many lay where an oldest-first or a newest-first incremental scan would have looked. */
  readonly foundAtTail: number
  readonly foundAtHead: number
  /** Newest event time of those found. */
  readonly foundUntilMs?: number
  /** Of the events found, how many the latest incremental scan should have found. */
  readonly missed: number
  /** A newest-first incremental scan would have stopped before the next page. */
  readonly pastHead: boolean
  /** Fingerprints (hex) of the first events of its first page that was not empty, as they are listed, at most 32, */
  readonly head: readonly string[]
  /** and of the last ones of its latest such page. */
  readonly last: readonly string[]
  /** What of the mark it has not met; absent where there was no mark when it began. */
  readonly owed?: readonly string[]
  /** Different events that the API had listed to this stream when it began, as far as it must meet them to be complete, */
  readonly known: number
  /** and how many it has met: found ones do not count. */
  readonly met: number
  /** Events older than this count neither as known nor as met. */
  readonly sinceMs?: number
  /** Event times of its pages that have one that is not in the future: the newest of the first such page, */
  readonly firstPageNewestMs?: number
  /** of all, */
  readonly newestReadMs?: number
  /** of all but the latest, */
  readonly newestBeforeMs?: number
  /** and the oldest of the latest. */
  readonly oldestOnPageMs?: number
  /** The person's read request that it began for. */
  readonly readRequest?: string
}

/** What the checkpoint keeps of a complete scan. */
export interface ScanRecord extends Pick<
  Scan,
  'beganAtMs' | 'ageMs' | 'tookMs' | 'pages' | 'found' | 'newestAtBeginMs' | 'readRequest'
> {
  readonly endedAtMs: number
}

/** When its first request was sent: the pace of requests counts from then. */
export function askedAtOf({ beganAtMs, ageMs = 0 }: Pick<Scan, 'beganAtMs' | 'ageMs'>): number {
  return beganAtMs + ageMs
}

/** A scan before its first page. It may begin at a stored cursor; null begins at the first page. */
export function beginScan(
  start: Pick<Scan, 'kind' | 'beganAtMs' | 'cursor' | 'overlapStartMs' | 'newestAtBeginMs'> &
    Partial<Pick<Scan, 'readRequest' | 'owed' | 'known' | 'sinceMs'>>,
): Scan {
  return {
    known: 0,
    ...start,
    fromStoredCursor: start.cursor !== null,
    pages: 0,
    emptyPages: 0,
    tookMs: 0,
    remembered: null,
    found: 0,
    foundAtTail: 0,
    foundAtHead: 0,
    missed: 0,
    pastHead: false,
    head: [],
    last: [],
    met: 0,
  }
}

export interface ScanStep {
  readonly end: 'none' | 'complete' | Guard
  readonly scan: Scan
}

/** Range of event times in which incremental scans should have found every event. */
interface PolledSpan {
  readonly fromMs: number
  readonly beforeMs: number
}

interface ScanTest {
  readonly order: ListingOrder
  readonly polled: PolledSpan | null
  /** Stored cursors are proven, so what begins at one must meet the mark. */
  readonly cursorProven?: boolean
  /** The day is shipped again: what a scan finds counts as met, until one is complete. */
  readonly isResent?: boolean
}

/** The scan after one more page: it continues, is complete, or ends incomplete at a guard. */
export function advanceScan(scan: Scan, facts: PageFacts, test: ScanTest): ScanStep {
  const { polled, isResent = false } = test
  const pages = scan.pages + 1
  const owed = scan.owed && facts.owed
  const markMet = owed?.length === 0
  // An incremental scan of an oldest-first listing would start at the last page that lies wholly before the overlap.
  const { latestMs } = facts
  const isWhollyOld = scan.overlapStartMs !== null && latestMs !== null && latestMs < scan.overlapStartMs
  const before = isWhollyOld ? { ...scan, foundAtTail: 0 } : scan
  const next: Scan = {
    ...withFound(before, facts.unseen, facts.unseenTimesMs, polled),
    cursor: facts.next,
    ...(facts.isOlder && { hasOlderPage: true }),
    pages,
    emptyPages: facts.events === 0 ? scan.emptyPages + 1 : 0,
    tookMs: scan.tookMs + facts.tookMs,
    remembered: isPowerOfTwo(pages) ? facts.cursor : scan.remembered,
    ...rememberPage(scan, facts),
    ...(owed && { owed }),
    // What was known before under the id and time that entries share may have ids of their own now.
    met: scan.met + facts.met + (isResent ? facts.fresh + facts.apart : 0),
    // "All seen" alone would stop too early: a listing that shifts shows events of this very scan again.
    pastHead: scan.pastHead || (markMet && facts.unseen === 0 && isWhollyOld),
    head: scan.head.length > 0 ? scan.head : facts.head,
    last: facts.last.length > 0 ? facts.last : scan.last,
    ...timesRead(scan, facts),
  }
  const { hasOlderPage = false, ageMs = 0, pastHead } = next
  const hasLess = !facts.more && isShrunken(next, test)
  // An answer that is older than what is known lists less, and nothing is wrong with the listing.
  if (hasLess) return { end: ageMs > 0 || hasOlderPage ? 'cached_page' : 'listing_shrank', scan: next }
  if (!facts.more || (scan.kind === 'incremental' && test.order === 'newest-first' && pastHead))
    return { end: hasOlderPage ? 'cached_page' : 'complete', scan: next }
  return { end: guardOf(facts, scan, next) ?? 'none', scan: next }
}

/**
 * Whether a scan that is at the end of the listing has met less than it must: then it proves nothing. One that began at
 * a stored cursor must meet the mark.
 */
function isShrunken({ fromStoredCursor, owed = [], known, met }: Scan, { cursorProven = false }: ScanTest) {
  return fromStoredCursor ? cursorProven && owed.length > 0 : met < known
}

function timesRead({ firstPageNewestMs, newestReadMs }: Scan, { oldestMs, newestMs }: PageFacts) {
  if (oldestMs === null || newestMs === null) return {}
  return {
    firstPageNewestMs: firstPageNewestMs ?? newestMs,
    newestReadMs: Math.max(newestReadMs ?? newestMs, newestMs),
    ...(newestReadMs !== undefined && { newestBeforeMs: newestReadMs }),
    oldestOnPageMs: oldestMs,
  }
}

/** It found so many unseen events, with these event times. */
export function withFound(scan: Scan, unseen: number, timesMs: readonly number[], polled: PolledSpan | null) {
  const isPolled = (timeMs: number) => polled !== null && polled.fromMs <= timeMs && timeMs < polled.beforeMs
  return {
    ...scan,
    ...(timesMs.length > 0 && { foundUntilMs: timesMs.reduce(later, scan.foundUntilMs ?? -Infinity) }),
    found: scan.found + unseen,
    foundAtTail: scan.foundAtTail + unseen,
    foundAtHead: scan.foundAtHead + (scan.pastHead ? 0 : unseen),
    missed: scan.missed + timesMs.filter(isPolled).length,
  }
}

const later = (one: number, other: number) => Math.max(one, other)

/** So often the remembered page may come again. */
const mostRepeats = 4

export const guards = [
  'cursor_repeated',
  'cursor_cycle',
  'empty_pages',
  'cursor_missing',
  'too_many_pages',
  'page_too_large',
  'listing_shrank',
  'cached_page',
  'page_repeated',
] as const
export type Guard = (typeof guards)[number]

/** Why a scan that has ended at a guard proves nothing. */
export function guardText(guard: Guard, { known, met, pages }: Scan): string {
  if (guard === 'listing_shrank') return `the API lists ${Math.max(0, met)} of ${known} known events`
  return guard === 'cached_page'
    ? 'a page came from a cache, and is older than what was read before'
    : `the listing does not end: ${guard} after ${pages} pages`
}

/** The guard that ends a scan after a page, if one does: the listing cannot be read on, or would never end. */
function guardOf(
  { cursor, next }: PageFacts,
  before: Scan,
  { emptyPages, pages, rememberedPage }: Scan,
): Guard | undefined {
  if (next === null) return 'cursor_missing'
  if (next === cursor) return 'cursor_repeated'
  if (next === before.remembered) return 'cursor_cycle'
  if (emptyPages > maxEmptyPages) return 'empty_pages'
  if ((rememberedPage?.again ?? 0) >= mostRepeats) return 'page_repeated'
  return pages >= maxPagesPerScan ? 'too_many_pages' : undefined
}

/**
 * One cursor is remembered, and how one page begins, by which a circle is noticed whatever its length: those of the
 * latest page whose number is a power of two. A scan outlives its pump, so they are in the checkpoint.
 */
function isPowerOfTwo(pages: number): boolean {
  return (pages & (pages - 1)) === 0
}

/**
 * A listing may show a page twice, for example after a request that failed; one in a circle comes again and again. Events
 * that are all the same one say nothing: a flood of it may fill many pages.
 */
function rememberPage({ rememberedPage: before }: Scan, { head: listed, unseen }: PageFacts) {
  if (listed.length === 0 || (listed.length > 1 && new Set(listed).size === 1)) return {}
  const filled = (before?.filled ?? 0) + 1
  const head = hash('sha1', listed.join()).slice(0, 16)
  const isSame = before?.head === head
  const again = (before?.again ?? 0) + (isSame && unseen === 0 ? 1 : 0)
  if (before !== undefined && (isSame || !isPowerOfTwo(filled)))
    return { rememberedPage: { ...before, filled, again } }
  return { rememberedPage: { filled, head, again: 0 } }
}
