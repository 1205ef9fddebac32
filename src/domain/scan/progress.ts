import { counted, dropScans, type Checkpoint, type Counters, type StoredCursor } from '../checkpoint.ts'
import { endOf, startOf } from '../day.ts'
import { mergeCommitted, type Delivery } from '../event/delivery.ts'
import type { Event } from '../event/event.ts'
import { maxSettleRepeats, maxStoredCursors, type Policy } from '../policy.ts'
import { answerRequest, type ReadRequest } from '../read-request.ts'
import { troubleAfterPage } from '../retry.ts'
import { confirmOrdering, incrementalsCount, testOrdering } from './ordering.ts'
import { timesOf, type Cursor, type PageFacts } from './page.ts'
import {
  advanceScan,
  beginScan,
  type PolledSpan,
  type Scan,
  type ScanKind,
  type ScanRecord,
  type ScanStep,
  withFound,
} from './scan.ts'

interface DueScan {
  readonly checkpoint: Checkpoint
  readonly kind: ScanKind
  readonly readRequest?: ReadRequest | undefined
}

/** The scan to continue: the unfinished one that is due, or a new one that begins now. */
export function scanFor({ checkpoint, kind, readRequest }: DueScan, nowMs: number, policy: Policy): Scan {
  if (kind === 'archive') return archiveScan(checkpoint, readRequest?.id ?? '', nowMs)
  const unfinished = kind === 'full' ? checkpoint.full : checkpoint.incremental
  if (unfinished !== undefined) return unfinished
  const overlapStartMs = overlapStart(checkpoint, policy)
  const fromTail = kind === 'incremental' && checkpoint.ordering.order === 'oldest-first'
  return beginScan({
    kind,
    beganAtMs: nowMs,
    cursor: fromTail ? cursorBefore(checkpoint.storedCursors, overlapStartMs) : null,
    overlapStartMs,
    newestAtBeginMs: checkpoint.newestMs ?? null,
    ...(readRequest !== undefined && { readRequest: readRequest.id }),
  })
}

/** What a delivery changes, besides the scan. */
export function withDelivery(
  before: Checkpoint,
  { committed, object }: Pick<Delivery, 'committed' | 'object'>,
  counts: Partial<Counters>,
): Checkpoint {
  const after = {
    ...before,
    counters: counted(before.counters, counts),
    committed: mergeCommitted(before.committed, committed),
  }
  if (object === undefined) return after
  const others = (before.objectBytes ?? []).slice(0, object.number - 1)
  return { ...after, objectBytes: [...others, object.bytes] }
}

/** By the API's clock; and the time by which the day may become complete, undefined while it is in doubt. */
interface Instant {
  readonly nowMs: number
  readonly sureMs: number | undefined
}

/** The scan after one page, of which the sink has or needs all events, and the checkpoint without `withDelivery`. */
export function afterPage(before: Checkpoint, scan: Scan, facts: PageFacts, at: Instant, policy: Policy) {
  const step = advanceScan(scan, facts, { order: before.ordering.order, polled: polledSpan(before, policy) })
  return { step, after: afterStep(before, step, facts, at, policy) }
}

function afterStep(
  before: Checkpoint,
  { scan, end }: ScanStep,
  facts: PageFacts,
  at: Instant,
  policy: Policy,
): Checkpoint {
  const shipped = afterEvents(before, facts.unseen)
  if (scan.kind === 'archive') return afterArchivePage(withTroubleAfterPage(shipped), scan, end)
  const moved: Checkpoint = {
    ...shipped,
    lastPage: scan.kind,
    newestMs: facts.newestMs === null ? before.newestMs : Math.max(before.newestMs ?? 0, facts.newestMs),
    storedCursors:
      before.ordering.order === 'newest-first' || before.ended !== undefined
        ? []
        : rememberCursor(before.storedCursors, facts, policy.overlapMs),
    pollPagesSinceFull: before.pollPagesSinceFull + (scan.kind === 'incremental' ? 1 : 0),
    counters: counted(shipped.counters, {
      pages: 1,
      events: facts.events,
      duplicates: facts.events - facts.unseen,
    }),
  }
  const { readRequest, found } = scan
  if (end === 'none') return keepScan(withTroubleAfterPage(moved), scan)
  if (end !== 'complete') return readRequest === undefined ? dropScans(moved) : { ...moved, full: undefined }
  const calm = { ...moved, trouble: undefined }
  const complete =
    scan.kind === 'full' ? completeFull(calm, scan, at, policy) : completeIncremental(calm, scan, at.nowMs)
  return readRequest === undefined
    ? complete
    : answerRequest(complete, { id: readRequest, outcome: 'done', found })
}

/**
 * After a part of a page's unseen events was delivered, dead-lettered or skipped, although the rest was not: the scan keeps
 * its cursor, so that it reads the page again, and counts these events as found.
 */
export function afterPart(
  before: Checkpoint,
  scan: Scan,
  part: readonly Pick<Event, 'timeMs'>[],
  policy: Policy,
): Checkpoint {
  const shipped = afterEvents(before, part.length)
  // Only what the API listed counts as read.
  const events = scan.kind === 'archive' ? 0 : part.length
  const counters = counted(shipped.counters, { events })
  const found = withFound(scan, part.length, timesOf(part), polledSpan(before, policy))
  return keepScan({ ...shipped, counters }, found)
}

function afterEvents(before: Checkpoint, unseen: number): Checkpoint {
  return { ...before, newSinceFull: before.newSinceFull + (before.lastFull === undefined ? 0 : unseen) }
}

function keepScan(checkpoint: Checkpoint, scan: Scan): Checkpoint {
  const { archives } = checkpoint
  return scan.kind === 'archive'
    ? { ...checkpoint, archives: { ...archives, [scan.readRequest ?? '']: scan } }
    : { ...checkpoint, [scan.kind]: scan }
}

function withTroubleAfterPage(checkpoint: Checkpoint): Checkpoint {
  const { trouble, requestTrouble } = checkpoint
  const ofRequest = troubleAfterPage(requestTrouble)
  return {
    ...checkpoint,
    trouble: troubleAfterPage(trouble),
    requestTrouble: ofRequest && { ...ofRequest, request: requestTrouble!.request },
  }
}

function recordOf(scan: Scan, nowMs: number): ScanRecord {
  const { beganAtMs, tookMs, pages, found, newestAtBeginMs, readRequest } = scan
  const record = { beganAtMs, endedAtMs: nowMs, tookMs, pages, found, newestAtBeginMs }
  return readRequest === undefined ? record : { ...record, readRequest }
}

/** The checkpoint after a complete scan: ordering, mark, caught-up time, and whether the day is complete. */
function completeIncremental(checkpoint: Checkpoint, scan: Scan, nowMs: number): Checkpoint {
  // While a full scan is unfinished, the cursor may name its frozen snapshot: unseen events there prove nothing.
  const proves = scan.fromStoredCursor && scan.found > 0 && checkpoint.full === undefined
  const ordering = { ...checkpoint.ordering, cursorProven: checkpoint.ordering.cursorProven || proves }
  const counts = (!scan.fromStoredCursor || incrementalsCount(ordering)) && scan.beganAtMs <= nowMs
  return {
    ...checkpoint,
    incremental: undefined,
    ordering,
    lastIncremental: recordOf(scan, nowMs),
    mark: scan.fromStoredCursor ? checkpoint.mark : scan.head,
    restarts: 0,
    ...(counts && { caughtUpAtMs: caughtUpAfter(checkpoint, scan, nowMs) }),
  }
}

function completeFull(checkpoint: Checkpoint, begun: Scan, at: Instant, policy: Policy): Checkpoint {
  const { nowMs } = at
  const scan = withBeginning(begun, checkpoint, nowMs)
  const tested = testOrdering(checkpoint.ordering, scan, checkpoint.newSinceFull)
  const isRevoked = tested.revocations > checkpoint.ordering.revocations
  const isFirst = checkpoint.lastFull === undefined
  const next: Checkpoint = {
    ...checkpoint,
    full: undefined,
    // Incremental scans that relied on a revoked ordering no longer count as having read the listing.
    ...(isRevoked && { incremental: undefined, lastIncremental: undefined }),
    // The first full scan, or one that has just revoked the ordering, cannot confirm one.
    ordering: isFirst || isRevoked ? tested : confirmOrdering(tested, scan),
    lastFull: recordOf(scan, nowMs),
    mark: scan.head,
    newSinceFull: 0,
    pollPagesSinceFull: 0,
    restarts: 0,
    needsFull: false,
    caughtUpAtMs: isRevoked ? scan.beganAtMs : caughtUpAfter(checkpoint, scan, nowMs),
  }
  return settle(next, scan, at, policy)
}

/** A start time in the future comes from a clock that ran ahead; the scan then keeps the start time of the last. */
function withBeginning(scan: Scan, { lastFull, stream }: Checkpoint, nowMs: number): Scan {
  if (scan.beganAtMs <= nowMs) return scan
  const isUsable = lastFull !== undefined && lastFull.beganAtMs <= nowMs
  return { ...scan, beganAtMs: isUsable ? lastFull.beganAtMs : startOf(stream.day) }
}

/** A caught-up time in the future comes from a clock that ran ahead: it would hide unread events, so it is replaced. */
function caughtUpAfter({ caughtUpAtMs = 0 }: Checkpoint, scan: Scan, nowMs: number): number {
  return caughtUpAtMs > nowMs ? scan.beganAtMs : Math.max(caughtUpAtMs, scan.beganAtMs)
}

/** After the last settling scan: it is repeated while it finds unseen events; then the day is complete. */
function settle(checkpoint: Checkpoint, scan: Scan, { nowMs, sureMs }: Instant, policy: Policy): Checkpoint {
  if (checkpoint.ended !== undefined || sureMs === undefined) return checkpoint
  const lastPointMs = endOf(checkpoint.stream.day) + (policy.settleAfterMs.at(-1) ?? 0)
  // By both clocks: the one that is behind may be the right one.
  if (scan.beganAtMs - Math.max(0, nowMs - sureMs) < lastPointMs) return checkpoint
  if (scan.found > 0 && checkpoint.settleRepeats < maxSettleRepeats) {
    return { ...checkpoint, settleRepeats: checkpoint.settleRepeats + 1 }
  }
  // Ended checkpoints are kept for weeks: drop what only polls need.
  const ended = { as: 'complete', atMs: nowMs } as const
  return { ...checkpoint, incremental: undefined, storedCursors: [], mark: [], ended }
}

function archiveScan({ archives }: Checkpoint, request: string, nowMs: number): Scan {
  const start = { beganAtMs: nowMs, cursor: null, overlapStartMs: null, newestAtBeginMs: null }
  return archives?.[request] ?? beginScan({ kind: 'archive', ...start, readRequest: request })
}

/** Stores the scan before its first page is read. */
export function beginArchiveScan(checkpoint: Checkpoint, request: string, nowMs: number): Checkpoint {
  return keepScan(checkpoint, archiveScan(checkpoint, request, nowMs))
}

function afterArchivePage(shipped: Checkpoint, scan: Scan, end: ScanStep['end']): Checkpoint {
  const { readRequest: id = '', found } = scan
  // Cursors of an archive are numbers: no guard ends it.
  if (end !== 'complete') return keepScan(shipped, scan)
  // Scans of killed requests are dropped too. A request that still runs starts again and skips what is seen.
  return answerRequest({ ...shipped, archives: undefined }, { id, outcome: 'done', found })
}

/** The complete scan, full or incremental, that began last. */
function latestScan({ lastFull, lastIncremental }: Checkpoint): ScanRecord | undefined {
  if (lastFull === undefined || lastIncremental === undefined) return lastFull ?? lastIncremental
  return lastFull.beganAtMs >= lastIncremental.beganAtMs ? lastFull : lastIncremental
}

/**
 * Where the overlap of the next scan begins: `overlapMs` before the newest event that was known when the previous scan
 * began. Null when no event was known then: everything lies in the overlap.
 */
export function overlapStart(checkpoint: Checkpoint, policy: Pick<Policy, 'overlapMs'>): number | null {
  const newestMs = latestScan(checkpoint)?.newestAtBeginMs ?? null
  return newestMs === null ? null : newestMs - policy.overlapMs
}

/** Unseen events older than this arrived later than the overlap covers; null until a full scan is complete. */
export function lateBefore(checkpoint: Checkpoint, policy: Pick<Policy, 'overlapMs'>): number | null {
  const last = checkpoint.lastFull === undefined ? undefined : latestScan(checkpoint)
  return last === undefined ? null : last.beganAtMs - policy.overlapMs
}

/**
 * Event times of events that incremental scans should have found before a full scan does: older than the latest
 * incremental scan's start minus the overlap. Excludes events that were already older than the overlap when the
 * previous full scan began: they came late, which is no evidence about the ordering.
 */
function polledSpan({ lastIncremental, lastFull }: Checkpoint, { overlapMs }: Policy): PolledSpan | null {
  if (lastIncremental === undefined) return null
  const knownMs = lastFull?.newestAtBeginMs ?? null
  return {
    fromMs: knownMs === null ? -Infinity : knownMs - overlapMs,
    beforeMs: lastIncremental.beganAtMs - overlapMs,
  }
}

/**
 * Remembers the cursor that opened a page, thinned to one per minute of event time (wider for a long overlap, which the
 * 24 kept cursors must span). Within a minute the latest page stays: it lets a scan start closest to the overlap.
 */
export function rememberCursor(
  stored: readonly StoredCursor[],
  page: { readonly cursor: Cursor | null; readonly newestMs: number | null },
  overlapMs: number,
): readonly StoredCursor[] {
  const { cursor, newestMs } = page
  if (cursor === null || newestMs === null) return stored
  const spacingMs = Math.max(60_000, (overlapMs * 2) / maxStoredCursors)
  const slot = (atMs: number) => Math.floor(atMs / spacingMs)
  const others = stored.filter((entry) => slot(entry.newestMs) !== slot(newestMs))
  return [...others, { cursor, newestMs }]
    .sort((left, right) => left.newestMs - right.newestMs)
    .slice(-maxStoredCursors)
}

/** The cursor of the last known page that lies wholly before the overlap; null means the first page. */
export function cursorBefore(stored: readonly StoredCursor[], overlapStartMs: number | null): Cursor | null {
  if (overlapStartMs === null) return null
  return stored.findLast((entry) => entry.newestMs < overlapStartMs)?.cursor ?? null
}
