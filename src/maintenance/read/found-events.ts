import { FingerprintSet, minuteOf } from '../../domain/event/seen.ts'
import type { Sighting } from '../../pump/seen-window.ts'

interface FoundMinute {
  readonly fingerprints: FingerprintSet
  /** Fingerprints of ids that events share, of which each was found under its own: the ledger may have one of those. */
  readonly shared: FingerprintSet
  /** Sum of the fingerprints modulo 2^64, as in the ledger. */
  hash: bigint
}

/**
 * What the API lists of a zone's day, or what files hold of it, by minute of event time, each event once. With `most`, it
 * keeps the newest minutes of more events; what is older than these counts as found.
 */
export class FoundEvents {
  readonly minutes = new Map<number, FoundMinute>()
  readonly #most: number
  #count = 0
  #firstMinute = -Infinity

  constructor(most = Infinity) {
    this.#most = most
  }

  get count(): number {
    return this.#count
  }

  /** False for an event that was added before. */
  add(event: Sighting): boolean {
    const { fingerprint, timeMs, hasOwnId } = event
    const minute = minuteOf(timeMs)
    if (minute < this.#firstMinute) return false
    let found = this.minutes.get(minute)
    if (found === undefined) {
      found = { fingerprints: new FingerprintSet(), shared: new FingerprintSet(), hash: 0n }
      this.minutes.set(minute, found)
    }
    const shared = hasOwnId === true ? event.otherFingerprint?.() : undefined
    if (shared !== undefined) found.shared.add(shared)
    if (!found.fingerprints.add(fingerprint)) return false
    found.hash = BigInt.asUintN(64, found.hash + fingerprint)
    this.#count++
    if (this.#count > this.#most) this.#forgetOldest()
    return true
  }

  has(minute: number, fingerprint: bigint): boolean {
    const found = this.minutes.get(minute)
    return found?.fingerprints.has(fingerprint) === true || found?.shared.has(fingerprint) === true
  }

  /** The newest minute stays, however many events it has. */
  #forgetOldest(): void {
    const minutes = [...this.minutes.keys()].toSorted((one, other) => one - other)
    for (const minute of minutes.slice(0, -1)) {
      if (this.#count <= this.#most / 2) return
      this.#count -= this.minutes.get(minute)!.fingerprints.size
      this.minutes.delete(minute)
      this.#firstMinute = minute + 1
    }
  }
}
