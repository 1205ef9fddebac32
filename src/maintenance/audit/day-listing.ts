import type { Event } from '../../domain/event/event.ts'
import { FingerprintSet, minuteOf } from '../../domain/event/seen.ts'

/** The events of one minute as the API lists them. */
export interface ListedMinute {
  readonly fingerprints: FingerprintSet
  /** Fingerprints of ids that events share, of which each is listed under its own: the ledger may have one of those. */
  readonly shared: FingerprintSet
  /** Sum of the fingerprints modulo 2^64, as in the ledger. */
  hash: bigint
}

/** What the API lists of a zone's day, by minute of event time, each event once. */
export class DayListing {
  readonly minutes = new Map<number, ListedMinute>()
  #events = 0

  get events(): number {
    return this.#events
  }

  add(event: Pick<Event, 'fingerprint' | 'timeMs' | 'hasOwnId' | 'otherFingerprint'>): void {
    const { fingerprint, timeMs, hasOwnId } = event
    const minute = minuteOf(timeMs)
    let listed = this.minutes.get(minute)
    if (listed === undefined) {
      listed = { fingerprints: new FingerprintSet(), shared: new FingerprintSet(), hash: 0n }
      this.minutes.set(minute, listed)
    }
    const shared = hasOwnId === true ? event.otherFingerprint?.() : undefined
    if (shared !== undefined) listed.shared.add(shared)
    if (!listed.fingerprints.add(fingerprint)) return
    listed.hash = BigInt.asUintN(64, listed.hash + fingerprint)
    this.#events++
  }
}
