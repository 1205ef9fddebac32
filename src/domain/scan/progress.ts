import { counted, dropScans, type Checkpoint, type Counters } from '../checkpoint.ts'
import { endOf, startOf } from '../day.ts'
import { mergeCommitted, type Delivery } from '../event/delivery.ts'
import { maxSettleRepeats, type Policy } from '../policy.ts'
import { answerRequest, type ReadRequest } from '../read-request.ts'
import { troubleAfterPage } from '../retry.ts'
import { confirmOrdering, incrementalsCount, testOrdering } from './ordering.ts'
import { cursorBefore, overlapStart, polledSpan, rememberCursor } from './overlap.ts'
import type { PageFacts } from './page.ts'
import {
  advanceScan,
  beginScan,
  findPart,
  type PartOfPage,
  type Scan,
  type ScanKind,
  type ScanRecord,
  type ScanStep,
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

interface Outcome {
  readonly counts: Pick<Counters, 'delivered' | 'deadLetters' | 'late' | 'filtered' | 'skipped' | 'lost'>
  readonly delivery: Pick<Delivery, 'committed' | 'object'>
}

export function withOutcome(checkpoint: Checkpoint, { counts, delivery }: Outcome): Checkpoint {
  return withDelivery({ ...checkpoint, counters: counted(checkpoint.counters, counts) }, delivery)
}

export function withDelivery(
  checkpoint: Checkpoint,
  { committed, object }: Pick<Delivery, 'committed' | 'object'>,
): Checkpoint {
  const parts = mergeCommitted(checkpoint.committed, committed)
  if (object === undefined) return { ...checkpoint, committed: parts }
  const before = (checkpoint.objectBytes ?? []).slice(0, object.number - 1)
  return { ...checkpoint, committed: parts, objectBytes: [...before, object.bytes] }
}

interface PageRead {
  readonly step: ScanStep
  readonly facts: PageFacts
  /** The time by which the day may become complete; undefined while it is in doubt. */
  readonly sureMs: number | undefined
}

export function stepOf(before: Checkpoint, scan: Scan, facts: PageFacts, policy: Policy): ScanStep {
  return advanceScan(scan, facts, { order: before.ordering.order, polled: polledSpan(before, policy) })
}

/** The checkpoint after one page of a scan, of which the sink has or needs all events; without `withOutcome`. */
export function afterPage(
  before: Checkpoint,
  { step: { scan, end }, facts, sureMs }: PageRead,
  nowMs: number,
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
    scan.kind === 'full'
      ? completeFull(calm, scan, { nowMs, sureMs }, policy)
      : completeIncremental(calm, scan, nowMs)
  return readRequest === undefined
    ? complete
    : answerRequest(complete, { id: readRequest, outcome: 'done', found })
}

/**
 * After a part of a page's unseen events was delivered, dead-lettered or skipped, although the rest was not: the scan keeps
 * its cursor, so that it reads the page again, and counts these events as found.
 */
export function afterPart(before: Checkpoint, scan: Scan, part: PartOfPage, policy: Policy): Checkpoint {
  const shipped = afterEvents(before, part.events)
  // Only what the API listed counts as read.
  const counters =
    scan.kind === 'archive' ? shipped.counters : counted(shipped.counters, { events: part.events })
  return keepScan({ ...shipped, counters }, findPart(scan, part, polledSpan(before, policy)))
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

/** When a scan was complete, by the API's clock and by the one by which a day becomes complete, while it is not in doubt. */
interface Instant extends Pick<PageRead, 'sureMs'> {
  readonly nowMs: number
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

export function endArchiveScan(checkpoint: Checkpoint, request: string): Checkpoint {
  const { [request]: _, ...others } = checkpoint.archives ?? {}
  return { ...checkpoint, archives: Object.keys(others).length === 0 ? undefined : others }
}

function afterArchivePage(shipped: Checkpoint, scan: Scan, end: ScanStep['end']): Checkpoint {
  const { readRequest: id = '', found } = scan
  if (end === 'none') return keepScan(shipped, scan)
  if (end !== 'complete') return endArchiveScan(shipped, id)
  // Scans of killed requests are dropped too. A request that still runs starts again and skips what is seen.
  return answerRequest({ ...shipped, archives: undefined }, { id, outcome: 'done', found })
}
