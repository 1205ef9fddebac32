import type { Checkpoint, StoredCursor } from '../checkpoint.ts'
import { maxStoredCursors, type Policy } from '../policy.ts'
import type { PolledSpan, ScanRecord } from './scan.ts'
import type { Cursor } from './page.ts'

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
export function polledSpan(
  checkpoint: Checkpoint,
  { overlapMs }: Pick<Policy, 'overlapMs'>,
): PolledSpan | null {
  const { lastIncremental, lastFull } = checkpoint
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
