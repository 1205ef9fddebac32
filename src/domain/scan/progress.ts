import {
  counted,
  dropScans,
  type Checkpoint,
  type Counters,
  type Shrunken,
  type StoredCursor,
} from '../checkpoint.ts'
import { dayMs, endOf, startOf } from '../day.ts'
import { mergeCommitted, type Delivery } from '../event/delivery.ts'
import type { Event } from '../event/event.ts'
import { asListed } from '../event/seen.ts'
import { maxSettleRepeats, maxStoredCursors, type Policy } from '../policy.ts'
import { answerRequest, type ReadRequest } from '../read-request.ts'
import { troubleAfterPage } from '../retry.ts'
import { confirmOrdering, incrementalsCount, testOrdering } from './ordering.ts'
import { timesOf, type Cursor, type PageFacts } from './page.ts'
import {
  advanceScan,
  beginScan,
  guardText,
  type Scan,
  type ScanKind,
  type ScanRecord,
  type ScanStep,
  withFound,
} from './scan.ts'

/** By the API's clock; and the time by which the day may become complete, undefined while it is in doubt. */
interface Instant {
  readonly nowMs: number
  readonly sureMs: number | undefined
}

interface DueScan {
  readonly checkpoint: Checkpoint
  readonly kind: ScanKind
  readonly readRequest?: ReadRequest | undefined
}

/** The scan to continue: the unfinished one that is due, or a new one that begins now. */
export function scanFor({ checkpoint, kind, readRequest }: DueScan, at: Instant, policy: Policy): Scan {
  const { nowMs, sureMs } = at
  if (kind === 'archive') {
    const none = { cursor: null, overlapStartMs: null, newestAtBeginMs: null }
    return beginScan({ kind, beganAtMs: nowMs, ...none, ...(readRequest && { readRequest: readRequest.id }) })
  }
  const unfinished = kind === 'full' ? checkpoint.full : checkpoint.incremental
  if (unfinished !== undefined) return unfinished
  const overlapStartMs = overlapStart(checkpoint, policy)
  const fromTail = kind === 'incremental' && checkpoint.ordering.order === 'oldest-first'
  const { listed, gone = 0, resend, mark } = checkpoint
  const sinceMs = slidFrom(checkpoint, sureMs, policy)
  return beginScan({
    kind,
    beganAtMs: nowMs,
    cursor: fromTail ? cursorBefore(checkpoint.storedCursors, overlapStartMs) : null,
    overlapStartMs,
    newestAtBeginMs: checkpoint.newestMs ?? null,
    known: Math.max(listed - gone, resend?.was ?? 0),
    ...(mark.length > 0 && { owed: mark }),
    ...(sinceMs !== undefined && { sinceMs }),
    ...(readRequest !== undefined && { readRequest: readRequest.id }),
  })
}

/**
 * The API may keep days by the hour: once a day was read after its end, the API need not list events that are older than
 * the readable days. Undefined where it must list all, and while the time is in doubt: by a clock that is days ahead, it
 * would have to list none.
 */
function slidFrom({ stream, lastFull, resend }: Checkpoint, sureMs: number | undefined, policy: Policy) {
  if (sureMs === undefined) return undefined
  const sinceMs = sureMs - (policy.readableDays - 1) * dayMs
  const isRead = lastFull !== undefined && lastFull.beganAtMs >= endOf(stream.day)
  // Which of the events that were known before a resend are older, nobody knows any more.
  return isRead && resend === undefined && sinceMs > startOf(stream.day)
    ? Math.floor(sinceMs / 60_000) * 60_000
    : undefined
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
  return { ...after, objects: { last: object.number, bytes: (before.objects?.bytes ?? 0) + object.bytes } }
}

/** The scan after one page, of which the sink has or needs all events, and the checkpoint without `withDelivery`. */
export function afterPage(before: Checkpoint, scan: Scan, facts: PageFacts, at: Instant, policy: Policy) {
  const { ordering, resend, gone = 0 } = before
  const { order, cursorProven } = ordering
  const polled = polledSpan(before, policy)
  const step = advanceScan(scan, facts, { order, cursorProven, polled, isResent: resend !== undefined })
  const missing = missingOf(step.scan)
  if (step.end !== 'listing_shrank' || !isBelieved(shrunkenAfter(before, step.scan), at))
    return { step, after: afterStep(before, step, facts, at, policy) }
  const whole: ScanStep = { ...step, end: 'complete' }
  return { step: whole, after: afterStep({ ...before, gone: gone + missing }, whole, facts, at, policy) }
}

const missingOf = ({ known, met }: Scan) => known - met

/** Events that full scans of a whole day did not meet, and always as many: the API has removed them for good. */
const mostShrunken = 3

function isBelieved({ same, sinceMs }: Shrunken, { sureMs }: Instant): boolean {
  return same >= mostShrunken && sureMs !== undefined && sureMs - sinceMs >= dayMs
}

function shrunkenAfter({ shrunken: before }: Checkpoint, scan: Scan): Shrunken {
  const scans = (before?.scans ?? 0) + 1
  const missing = missingOf(scan)
  if (scan.kind !== 'full') return { scans, missing, same: 0, sinceMs: scan.beganAtMs }
  const isSame = before !== undefined && before.same > 0 && before.missing === missing
  if (!isSame) return { scans, missing, same: 1, sinceMs: scan.beganAtMs }
  return { scans, missing, same: before.same + 1, sinceMs: before.sinceMs }
}

/** A first such scan may have met a listing that shifts: only a further one counts against the stream. */
export function isShrunkenAgain({ shrunken }: Checkpoint): boolean {
  return (shrunken?.scans ?? 0) > 1
}

function afterShrunken(moved: Checkpoint, scan: Scan): Checkpoint {
  const { readRequest: id } = scan
  const next = { ...moved, shrunken: shrunkenAfter(moved, scan) }
  if (id === undefined) return dropScans(next)
  const again = { ...next, full: undefined }
  if (!isShrunkenAgain(next)) return again
  return answerRequest(again, { id, outcome: 'left_out', reason: guardText('listing_shrank', scan) })
}

function afterStep(
  before: Checkpoint,
  { scan, end }: ScanStep,
  facts: PageFacts,
  at: Instant,
  policy: Policy,
): Checkpoint {
  if (scan.kind === 'archive') return afterArchivePage(withRequestTroubleAfterPage(before), scan, end)
  const shipped = afterEvents(before, facts.unseen)
  const moved: Checkpoint = {
    ...shipped,
    lastPage: scan.kind,
    listed: before.listed + facts.fresh,
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
  const { readRequest } = scan
  const { found } = moved.resend ?? scan
  if (end === 'none') return keepScan(withTroubleAfterPage(moved), scan)
  if (end === 'listing_shrank') return afterShrunken(moved, scan)
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
  part: readonly Pick<Event, 'timeMs' | 'fingerprint'>[],
  policy: Policy,
): Checkpoint {
  // Only what the API listed counts as read.
  if (scan.kind === 'archive') return before
  const shipped = afterEvents(before, part.length)
  const found = withFound(scan, part.length, timesOf(part), polledSpan(before, policy))
  const fresh = asListed(part)
  const listed = before.listed + fresh
  const counters = counted(shipped.counters, { events: part.length })
  // The page that is read again will show them as met.
  const met = found.met - (before.resend === undefined ? fresh : 0)
  return keepScan({ ...shipped, listed, counters }, { ...found, met })
}

function afterEvents(before: Checkpoint, unseen: number): Checkpoint {
  const { resend, lastFull } = before
  return {
    ...before,
    newSinceFull: before.newSinceFull + (lastFull === undefined ? 0 : unseen),
    ...(resend !== undefined && { resend: { ...resend, found: resend.found + unseen } }),
  }
}

function keepScan(checkpoint: Checkpoint, scan: Scan): Checkpoint {
  return { ...checkpoint, [scan.kind]: scan }
}

function withTroubleAfterPage(checkpoint: Checkpoint): Checkpoint {
  return { ...withRequestTroubleAfterPage(checkpoint), trouble: troubleAfterPage(checkpoint.trouble) }
}

function withRequestTroubleAfterPage(checkpoint: Checkpoint): Checkpoint {
  const { requestTrouble } = checkpoint
  const after = troubleAfterPage(requestTrouble)
  return { ...checkpoint, requestTrouble: after && { ...after, request: requestTrouble!.request } }
}

function recordOf(scan: Scan, nowMs: number): ScanRecord {
  const { beganAtMs, ageMs, tookMs, pages, found, newestAtBeginMs, readRequest } = scan
  const read = { endedAtMs: nowMs, tookMs, pages, found, newestAtBeginMs }
  const record = { beganAtMs, ...(ageMs !== undefined && { ageMs }), ...read }
  return readRequest === undefined ? record : { ...record, readRequest }
}

/** The checkpoint after a complete scan: ordering, mark, caught-up time, and whether the day is complete. */
function completeIncremental(checkpoint: Checkpoint, scan: Scan, nowMs: number): Checkpoint {
  // While a full scan is unfinished, the cursor may name its frozen snapshot: unseen events there prove nothing.
  const { foundUntilMs = nowMs, owed = [], fromStoredCursor } = scan
  // So does an event that the latest full scan could have listed: the API may have hidden it then.
  const isNew = foundUntilMs < nowMs && foundUntilMs > (checkpoint.lastFull?.endedAtMs ?? 0)
  const proves = fromStoredCursor && isNew && owed.length === 0 && checkpoint.full === undefined
  const ordering = { ...checkpoint.ordering, cursorProven: checkpoint.ordering.cursorProven || proves }
  const counts = (!scan.fromStoredCursor || incrementalsCount(ordering)) && scan.beganAtMs <= nowMs
  return {
    ...checkpoint,
    incremental: undefined,
    ordering,
    lastIncremental: recordOf(scan, nowMs),
    mark: markAfter(checkpoint, scan),
    restarts: 0,
    ...(counts && { caughtUpAtMs: caughtUpAfter(checkpoint, scan, nowMs) }),
  }
}

function completeFull(checkpoint: Checkpoint, begun: Scan, at: Instant, policy: Policy): Checkpoint {
  const { nowMs } = at
  const scan = withBeginning(begun, checkpoint, nowMs)
  const tested = testOrdering(checkpoint.ordering, scan, checkpoint.newSinceFull)
  const isRevoked = tested.revocations > checkpoint.ordering.revocations
  const isFirst = checkpoint.lastFull === undefined || checkpoint.resend !== undefined
  // The first full scan, or one that has just revoked the ordering, cannot confirm one.
  const ordering = isFirst || isRevoked ? tested : confirmOrdering(tested, scan)
  const next: Checkpoint = {
    ...checkpoint,
    full: undefined,
    // Incremental scans that relied on a revoked ordering no longer count as having read the listing.
    ...(isRevoked && { incremental: undefined, lastIncremental: undefined }),
    ordering,
    lastFull: recordOf(scan, nowMs),
    mark: markAfter({ ...checkpoint, ordering }, scan),
    resend: undefined,
    shrunken: undefined,
    newSinceFull: 0,
    pollPagesSinceFull: 0,
    restarts: 0,
    needsFull: false,
    caughtUpAtMs: isRevoked ? scan.beganAtMs : caughtUpAfter(checkpoint, scan, nowMs),
  }
  return settle(next, scan, at, policy)
}

/** Where the listing shows its new events. A scan that began before the latest one knows less of its end. */
function markAfter({ ordering, mark, lastIncremental }: Checkpoint, scan: Scan): readonly string[] {
  if (ordering.order !== 'oldest-first') return scan.head
  const isLess = scan.fromStoredCursor && (scan.owed?.length ?? 0) > 0
  return isLess || scan.beganAtMs < (lastIncremental?.beganAtMs ?? 0) ? mark : scan.last
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

/** No evidence of what the API lists: an archive may lack some of it, and hold more. */
function afterArchivePage(before: Checkpoint, { readRequest: id = '', found }: Scan, end: ScanStep['end']) {
  // Cursors of an archive are numbers: no guard ends it.
  if (end !== 'complete') return before
  return answerRequest({ ...before, archiveSinceMs: undefined }, { id, outcome: 'done', found })
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

/**
 * Unseen events older than this arrived later than the overlap covers; null until a full scan is complete, and while a
 * resend makes all of them unseen.
 */
export function lateBefore(checkpoint: Checkpoint, policy: Pick<Policy, 'overlapMs'>): number | null {
  const { lastFull, resend } = checkpoint
  const last = lastFull === undefined || resend !== undefined ? undefined : latestScan(checkpoint)
  return last === undefined ? null : last.beganAtMs - policy.overlapMs
}

/**
 * Event times of events that incremental scans should have found before a full scan does: older than the latest
 * incremental scan's start minus the overlap. Excludes events that were already older than the overlap when the
 * previous full scan began: they came late, which is no evidence about the ordering.
 */
function polledSpan({ lastIncremental, lastFull, resend }: Checkpoint, { overlapMs }: Policy) {
  if (lastIncremental === undefined || resend !== undefined) return null
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
