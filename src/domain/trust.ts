import type { ListingOrder } from './listing-order.ts'
import type { Sweep } from './sweep.ts'

/** Order is not read off timestamps: it is where unseen events turn up. */
export interface Trust {
  readonly order: ListingOrder
  /** A sweep that began at a stored cursor has returned an unseen event, so stored cursors are no frozen snapshots. */
  readonly cursorProven: boolean
  /** How often trust was withdrawn; after the second time it is gone for the stream. */
  readonly withdrawals: number
  /** What full sweeps found of an order that is still unknown, while it is too little to judge by. */
  readonly evidence?: Evidence
}

/** Unseen events of full sweeps, and how many lay where partial sweeps would have looked. */
type Evidence = Pick<Sweep, 'found' | 'foundAtTail' | 'foundAtHead'>

export const noTrust: Trust = { order: 'unknown', cursorProven: false, withdrawals: 0 }

const minUnseen = 3
const expectedShare = 0.95
const minMissed = 2
const missedShare = 0.05
const maxWithdrawals = 2

/** What a new stream inherits from the latest day of its zone and sink that has proved an order or lost its trust. */
export function inheritTrust({ order, cursorProven }: Trust): Trust {
  return { order, cursorProven, withdrawals: 0 }
}

/**
 * Partial sweeps of a trusted listing count as readings of it. Those that begin at a stored cursor count only once
 * stored cursors have proved themselves.
 */
export function partialsCount(trust: Trust): boolean {
  return trust.order === 'newest-first' || (trust.order === 'oldest-first' && trust.cursorProven)
}

/**
 * Judges an order by a complete full sweep that was not the stream's first; a quiet stream's by several, since each
 * finds too little. A listing so short that both orders would have looked everywhere proves neither; full sweeps of it
 * cost little.
 */
export function earnTrust(trust: Trust, sweep: Evidence): Trust {
  const { evidence, ...judged } = trust
  if (trust.order !== 'unknown' || trust.withdrawals >= maxWithdrawals) return judged
  const found = sweep.found + (evidence?.found ?? 0)
  const foundAtTail = sweep.foundAtTail + (evidence?.foundAtTail ?? 0)
  const foundAtHead = sweep.foundAtHead + (evidence?.foundAtHead ?? 0)
  if (found === 0) return judged
  if (found < minUnseen) return { ...judged, evidence: { found, foundAtTail, foundAtHead } }
  const tail = foundAtTail >= found * expectedShare
  const head = foundAtHead >= found * expectedShare
  if (tail === head) return judged
  return { ...judged, order: tail ? 'oldest-first' : 'newest-first', cursorProven: false }
}

/** Every later full sweep is a test: `newSinceFull` events became known since the previous one. */
export function testTrust(trust: Trust, sweep: Pick<Sweep, 'missed'>, newSinceFull: number): Trust {
  if (trust.order === 'unknown') return trust
  if (sweep.missed < minMissed || sweep.missed <= newSinceFull * missedShare) return trust
  return { order: 'unknown', cursorProven: false, withdrawals: trust.withdrawals + 1 }
}
