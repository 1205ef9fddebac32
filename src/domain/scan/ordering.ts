import type { ListingOrder, Scan } from './scan.ts'

/** The ordering is derived from where unseen events appear in a listing, not from timestamps. */
export interface Ordering {
  readonly order: ListingOrder
  /** A scan that began at a stored cursor has returned an unseen event, so stored cursors are not frozen snapshots. */
  readonly cursorProven: boolean
  /** How often the ordering was revoked; after the second time the stream never confirms one again. */
  readonly revocations: number
  /** Sums over full scans while the order is unknown and they have found too few events to judge. */
  readonly evidence?: Evidence
}

/** Unseen events of full scans, and how many lay where incremental scans would have looked. */
type Evidence = Pick<Scan, 'found' | 'foundAtTail' | 'foundAtHead'>

export const unknownOrdering: Ordering = { order: 'unknown', cursorProven: false, revocations: 0 }

const minUnseen = 3
const expectedShare = 0.95
const minMissed = 2
const missedShare = 0.05
const maxRevocations = 2

/** What a new stream inherits from the latest day of its route that confirmed or revoked an ordering. */
export function inheritOrdering({ order, cursorProven }: Ordering): Ordering {
  return { order, cursorProven, revocations: 0 }
}

/** With a confirmed ordering and, where incremental scans begin at a stored cursor, proven stored cursors. */
export function incrementalsCount(ordering: Ordering): boolean {
  return ordering.order === 'newest-first' || (ordering.order === 'oldest-first' && ordering.cursorProven)
}

/**
 * Confirms an order by a complete full scan that was not the stream's first; on a quiet stream by several together,
 * since each finds too few events. Where scans of both orders would have read the whole listing, it confirms neither;
 * full scans of so short a listing cost little.
 */
export function confirmOrdering(ordering: Ordering, scan: Evidence): Ordering {
  const { evidence, ...judged } = ordering
  if (ordering.order !== 'unknown' || ordering.revocations >= maxRevocations) return judged
  const found = scan.found + (evidence?.found ?? 0)
  const foundAtTail = scan.foundAtTail + (evidence?.foundAtTail ?? 0)
  const foundAtHead = scan.foundAtHead + (evidence?.foundAtHead ?? 0)
  if (found === 0) return judged
  if (found < minUnseen) return { ...judged, evidence: { found, foundAtTail, foundAtHead } }
  const tail = foundAtTail >= found * expectedShare
  const head = foundAtHead >= found * expectedShare
  if (tail === head) return judged
  return { ...judged, order: tail ? 'oldest-first' : 'newest-first', cursorProven: false }
}

/** Revokes a confirmed ordering if a later full scan finds too many missed events among the `newSinceFull` new ones. */
export function testOrdering(ordering: Ordering, scan: Pick<Scan, 'missed'>, newSinceFull: number): Ordering {
  if (ordering.order === 'unknown') return ordering
  if (scan.missed < minMissed || scan.missed <= newSinceFull * missedShare) return ordering
  return { order: 'unknown', cursorProven: false, revocations: ordering.revocations + 1 }
}
