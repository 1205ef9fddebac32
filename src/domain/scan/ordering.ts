import type { ListingOrder } from './listing-order.ts'
import type { Scan } from './scan.ts'

/** Order is not read off timestamps: it is where unseen events turn up. */
export interface Ordering {
  readonly order: ListingOrder
  /** A scan that began at a stored cursor has returned an unseen event, so stored cursors are no frozen snapshots. */
  readonly cursorProven: boolean
  /** How often ordering was revoked; after the second time it is gone for the stream. */
  readonly revocations: number
  /** What full scans found of an order that is still unknown, while it is too little to judge by. */
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

/** What a new stream inherits from the latest day of its zone and sink that has proved an order or lost its ordering. */
export function inheritOrdering({ order, cursorProven }: Ordering): Ordering {
  return { order, cursorProven, revocations: 0 }
}

/**
 * Incremental scans of a confirmed listing count as readings of it. Those that begin at a stored cursor count only once
 * stored cursors have proved themselves.
 */
export function incrementalsCount(ordering: Ordering): boolean {
  return ordering.order === 'newest-first' || (ordering.order === 'oldest-first' && ordering.cursorProven)
}

/**
 * Judges an order by a complete full scan that was not the stream's first; a quiet stream's by several, since each
 * finds too little. A listing so short that both orders would have looked everywhere proves neither; full scans of it
 * cost little.
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

/** Every later full scan is a test: `newSinceFull` events became known since the previous one. */
export function testOrdering(ordering: Ordering, scan: Pick<Scan, 'missed'>, newSinceFull: number): Ordering {
  if (ordering.order === 'unknown') return ordering
  if (scan.missed < minMissed || scan.missed <= newSinceFull * missedShare) return ordering
  return { order: 'unknown', cursorProven: false, revocations: ordering.revocations + 1 }
}
