import type { TrackedCollection } from '../ports/records.ts'

const tracked: Readonly<Record<TrackedCollection, true>> = {
  checkpoints: true,
  backfills: true,
  backfilled: true,
}

/** Whether a store numbers the changes of this collection. */
export function isTracked(collection: string): collection is TrackedCollection {
  return Object.hasOwn(tracked, collection)
}

const since2026 = Date.UTC(2026)

/**
 * The change number that follows the latest one. It is at least the ms since 2026, so that a store that was restored
 * from an older state does not give a number that it gave already. Sums of a million of them stay below 2^63.
 */
export function nextNumber(latest: number, nowMs: number): number {
  return Math.max(latest + 1, Math.floor(nowMs) - since2026)
}
