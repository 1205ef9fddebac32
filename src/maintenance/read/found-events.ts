import { FingerprintSet, minuteOf } from '../../domain/event/seen.ts'
import type { Sighting } from '../../pump/seen-window.ts'

interface FoundMinute {
  readonly fingerprints: FingerprintSet
  /** Other fingerprints under which the ledger may have these events: of entries that share an id. */
  readonly others: FingerprintSet
  /** Sum of the fingerprints modulo 2^64, as in the ledger. */
  hash: bigint
}

/** What the API lists of a zone's day, or what files hold of it, by minute of event time, each event once. */
export class FoundEvents {
  readonly minutes = new Map<number, FoundMinute>()
  readonly #othersOf = new Map<bigint, readonly bigint[]>()
  readonly #noted = new Set<bigint>()
  #count = 0

  get count(): number {
    return this.#count
  }

  /** False for an event that was added before. */
  add(event: Sighting): boolean {
    const { fingerprint, timeMs, hasOwnId } = event
    const minute = minuteOf(timeMs)
    let found = this.minutes.get(minute)
    if (found === undefined) {
      found = { fingerprints: new FingerprintSet(), others: new FingerprintSet(), hash: 0n }
      this.minutes.set(minute, found)
    }
    const other = hasOwnId === true ? event.otherFingerprint?.() : undefined
    if (other !== undefined) found.others.add(other)
    if (!found.fingerprints.add(fingerprint)) return false
    found.hash = BigInt.asUintN(64, found.hash + fingerprint)
    this.#count++
    return true
  }

  /** For an event that was added, and that the ledger does not have: it may have one of these under the other one. */
  noteOther(event: Sighting): void {
    const other = event.otherFingerprint?.()
    if (other === undefined || this.#noted.has(other)) return
    this.#noted.add(other)
    this.minutes.get(minuteOf(event.timeMs))?.others.add(other)
    this.#othersOf.set(event.fingerprint, [...this.othersOf(event.fingerprint), other])
  }

  /** Several where entries that share an id are not told apart. */
  othersOf(fingerprint: bigint): readonly bigint[] {
    return this.#othersOf.get(fingerprint) ?? []
  }

  /** Also under another fingerprint. */
  has(minute: number, fingerprint: bigint): boolean {
    const found = this.minutes.get(minute)
    return found?.fingerprints.has(fingerprint) === true || found?.others.has(fingerprint) === true
  }
}
