import { counted, dropFullScan, dropScans, type Checkpoint, type Counters } from '../checkpoint.ts'
import { endOf, startOf } from '../day.ts'
import { mergeCommitted, type CommittedPart } from '../event/delivery.ts'
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
  type Scan,
  type ScanKind,
  type ScanRecord,
  type ScanStep,
} from './scan.ts'

/** What is due of a stream, and the request that it answers. */
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

/** What became of the events of a page or of a part of it. */
interface PageOutcome {
  readonly counts: Pick<Counters, 'delivered' | 'deadLetters' | 'late' | 'filtered' | 'skipped' | 'lost'>
  readonly committed: readonly CommittedPart[]
}

/** A page whose events are all delivered or need no delivery. */
export interface ReadPage {
  readonly step: ScanStep
  readonly facts: PageFacts
  readonly outcome: PageOutcome
  /** The time by which the day may become complete; undefined while it is in doubt. */
  readonly sureMs: number | undefined
}

/** The scan after a page; computed before the events of the page are delivered. */
export function stepOf(before: Checkpoint, scan: Scan, facts: PageFacts, policy: Policy): ScanStep {
  return advanceScan(scan, facts, { order: before.ordering.order, polled: polledSpan(before, policy) })
}

/** The checkpoint after one page of a scan. */
export function afterPage(
  before: Checkpoint,
  { step, facts, outcome, sureMs }: ReadPage,
  nowMs: number,
  policy: Policy,
): Checkpoint {
  const { scan } = step
  if (scan.kind === 'archive') return afterArchivePage(withTroubleAfterPage(before), step, facts, outcome)
  const moved: Checkpoint = {
    ...before,
    lastPage: scan.kind,
    ...(facts.newestMs !== null && { newestMs: Math.max(before.newestMs ?? 0, facts.newestMs) }),
    storedCursors:
      before.ordering.order === 'newest-first' || before.ended !== undefined
        ? []
        : rememberCursor(before.storedCursors, facts, policy.overlapMs),
    newSinceFull: before.newSinceFull + (before.lastFull === undefined ? 0 : facts.unseen),
    pollPagesSinceFull: before.pollPagesSinceFull + (scan.kind === 'incremental' ? 1 : 0),
    counters: counted(before.counters, {
      ...outcome.counts,
      pages: 1,
      events: facts.events,
      duplicates: facts.events - facts.unseen,
    }),
    committed: mergeCommitted(before.committed, outcome.committed),
  }
  if (step.end === 'none') return keepScan(withTroubleAfterPage(moved), scan)
  if (step.end !== 'complete') return scan.readRequest === undefined ? dropScans(moved) : dropFullScan(moved)
  const { trouble: _, ...calm } = moved
  const complete = completeScan(calm, scan, { nowMs, sureMs }, policy)
  return scan.readRequest === undefined
    ? complete
    : answerRequest(complete, { id: scan.readRequest, outcome: 'done', found: scan.found })
}

/** Unseen events of a page that are delivered, dead letters or skipped now, although the rest of the page is not. */
interface PartOfPage extends PageOutcome {
  /** How many they are, and their event times, where they have one. */
  readonly events: number
  readonly timesMs: readonly number[]
}

/** The scan keeps its cursor, so that it reads the page again, and counts these events as found. */
export function afterPart(before: Checkpoint, scan: Scan, part: PartOfPage, policy: Policy): Checkpoint {
  const kept: Checkpoint = {
    ...before,
    newSinceFull: before.newSinceFull + (before.lastFull === undefined ? 0 : part.events),
    // Only what the API listed counts as read.
    counters: counted(before.counters, { ...part.counts, events: scan.kind === 'archive' ? 0 : part.events }),
    committed: mergeCommitted(before.committed, part.committed),
  }
  return keepScan(kept, findPart(scan, part, polledSpan(before, policy)))
}

function keepScan(checkpoint: Checkpoint, scan: Scan): Checkpoint {
  if (scan.kind === 'archive') return keepArchiveScan(checkpoint, scan)
  return scan.kind === 'full' ? { ...checkpoint, full: scan } : { ...checkpoint, incremental: scan }
}

function withTroubleAfterPage({ trouble, requestTrouble, ...rest }: Checkpoint): Checkpoint {
  const [left, ofRequest] = [troubleAfterPage(trouble), troubleAfterPage(requestTrouble)]
  return {
    ...rest,
    ...(left !== undefined && { trouble: left }),
    ...(ofRequest !== undefined && { requestTrouble: { ...ofRequest, request: requestTrouble!.request } }),
  }
}

/** When a scan was complete. */
interface Instant {
  /** By the API's clock. */
  readonly nowMs: number
  /** By the clock by which a day becomes complete; undefined while it is in doubt. */
  readonly sureMs: number | undefined
}

/** The checkpoint after a complete scan: ordering, mark, caught-up time, and whether the day is complete. */
function completeScan(checkpoint: Checkpoint, scan: Scan, at: Instant, policy: Policy): Checkpoint {
  return scan.kind === 'full'
    ? completeFull(checkpoint, scan, at, policy)
    : completeIncremental(checkpoint, scan, at)
}

function recordOf(scan: Scan, nowMs: number): ScanRecord {
  const { beganAtMs, tookMs, pages, found, newestAtBeginMs, readRequest } = scan
  const record = { beganAtMs, endedAtMs: nowMs, tookMs, pages, found, newestAtBeginMs }
  return readRequest === undefined ? record : { ...record, readRequest }
}

function completeIncremental(checkpoint: Checkpoint, scan: Scan, { nowMs }: Instant): Checkpoint {
  const { incremental: _, ...rest } = checkpoint
  // While a full scan is unfinished, the cursor may name its frozen snapshot: unseen events there prove nothing.
  const proves = scan.fromStoredCursor && scan.found > 0 && checkpoint.full === undefined
  const ordering = { ...checkpoint.ordering, cursorProven: checkpoint.ordering.cursorProven || proves }
  const counts = (!scan.fromStoredCursor || incrementalsCount(ordering)) && scan.beganAtMs <= nowMs
  return {
    ...rest,
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
    ...(isRevoked ? withoutIncrementals(checkpoint) : checkpoint),
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
  const { full: _, ...rest } = next
  return settle(rest, scan, at, policy)
}

/** A start time in the future comes from a clock that ran ahead; the scan then keeps the start time of the last. */
function withBeginning(scan: Scan, { lastFull, stream }: Checkpoint, nowMs: number): Scan {
  if (scan.beganAtMs <= nowMs) return scan
  const isUsable = lastFull !== undefined && lastFull.beganAtMs <= nowMs
  return { ...scan, beganAtMs: isUsable ? lastFull.beganAtMs : startOf(stream.day) }
}

/** Incremental scans that relied on a revoked ordering no longer count as having read the listing. */
function withoutIncrementals(checkpoint: Checkpoint): Checkpoint {
  const { incremental: _incremental, lastIncremental: _last, ...rest } = checkpoint
  return rest
}

/** A caught-up time in the future comes from a clock that ran ahead: it would hide unread events, so it is replaced. */
function caughtUpAfter({ caughtUpAtMs }: Checkpoint, scan: Scan, nowMs: number): number {
  return caughtUpAtMs === undefined || caughtUpAtMs > nowMs
    ? scan.beganAtMs
    : Math.max(caughtUpAtMs, scan.beganAtMs)
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
  const { incremental: _, ...rest } = checkpoint
  // Ended checkpoints are kept for weeks: drop what only polls need.
  return { ...rest, storedCursors: [], mark: [], ended: { as: 'complete', atMs: nowMs } }
}

function archiveScan({ archives }: Checkpoint, request: string, nowMs: number): Scan {
  const start = { beganAtMs: nowMs, cursor: null, overlapStartMs: null, newestAtBeginMs: null }
  return archives?.[request] ?? beginScan({ kind: 'archive', ...start, readRequest: request })
}

/** Stores the scan before its first page is read. */
export function beginArchiveScan(checkpoint: Checkpoint, request: string, nowMs: number): Checkpoint {
  return keepArchiveScan(checkpoint, archiveScan(checkpoint, request, nowMs))
}

function keepArchiveScan(checkpoint: Checkpoint, scan: Scan): Checkpoint {
  return { ...checkpoint, archives: { ...checkpoint.archives, [scan.readRequest ?? '']: scan } }
}

export function endArchiveScan(checkpoint: Checkpoint, request: string): Checkpoint {
  const { archives = {}, ...rest } = checkpoint
  const { [request]: _, ...others } = archives
  return Object.keys(others).length === 0 ? rest : { ...rest, archives: others }
}

function afterArchivePage(
  before: Checkpoint,
  { end, scan }: ScanStep,
  facts: PageFacts,
  { counts, committed }: PageOutcome,
): Checkpoint {
  const request = scan.readRequest ?? ''
  const moved: Checkpoint = {
    ...before,
    committed: mergeCommitted(before.committed, committed),
    newSinceFull: before.newSinceFull + (before.lastFull === undefined ? 0 : facts.unseen),
    counters: counted(before.counters, counts),
  }
  if (end === 'none') return keepArchiveScan(moved, scan)
  if (end !== 'complete') return endArchiveScan(moved, request)
  // Scans of killed requests are dropped too. A request that still runs starts again and skips what is seen.
  const { archives: _, ...rest } = moved
  return answerRequest(rest, { id: request, outcome: 'done', found: scan.found })
}
