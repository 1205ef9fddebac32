import type { StoredCursor } from '../checkpoint.ts'
import type { Cursor } from '../event/page.ts'
import { maxStoredCursors } from '../policy.ts'

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
