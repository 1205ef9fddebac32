import { FingerprintSet, minuteOf } from '../domain/event/seen.ts'
import type { Event, Identity } from '../domain/event/event.ts'
import type { SeenWindow, Sighting } from '../pump/seen-window.ts'

interface FoundMinute {
  readonly fingerprints: FingerprintSet
  /** Other fingerprints under which the ledger may have these events: of entries that share an id. */
  readonly others: FingerprintSet
  /** Sum of the fingerprints modulo 2^64, as in the ledger. */
  hash: bigint
}

interface Noted {
  readonly identity: Identity
  readonly timeMs: number | undefined
  /** The ledger may have it under one of these; several where entries that share an id are not told apart. */
  readonly others: readonly bigint[]
}

/** Beyond this number, events that the ledger of a sink lacks are counted and not named. */
const mostNoted = 100_000

/** What the API lists of a zone's day, or what files hold of it, by minute of event time, each event once. */
export class FoundEvents {
  readonly minutes = new Map<number, FoundMinute>()
  /** Events that a ledger did not have when they were listed, so that a report can name them, by fingerprint. */
  readonly noted = new Map<bigint, Noted>()
  readonly #taken = new Set<bigint>()
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

  /** Notes events, which were added, that a ledger does not have, and counts them there. */
  async noteUnseen(
    events: readonly Event[],
    ledger: { readonly seen: SeenWindow; noted: number },
  ): Promise<void> {
    if (ledger.noted >= mostNoted) return
    // By this fingerprint alone: the ledger may have an event under its other one.
    const sightings = events.map(({ fingerprint, timeMs }) => ({
      fingerprint,
      ...(timeMs !== undefined && { timeMs }),
    }))
    const unseen = new Set((await ledger.seen.unseenOf(sightings)).map(({ fingerprint }) => fingerprint))
    for (const event of events) if (unseen.has(event.fingerprint)) this.#note(event)
    ledger.noted += unseen.size
  }

  #note(event: Event): void {
    const { fingerprint, id, time, timeMs } = event
    let others = this.noted.get(fingerprint)?.others ?? []
    const other = event.otherFingerprint?.()
    // One event of the ledger stands for one that is listed, not for all that share its id.
    if (other !== undefined && !this.#taken.has(other)) {
      this.#taken.add(other)
      others = [...others, other]
      this.minutes.get(minuteOf(timeMs))?.others.add(other)
    }
    this.noted.set(fingerprint, { identity: time === undefined ? { id } : { id, time }, timeMs, others })
  }

  /** Also under another fingerprint. */
  has(minute: number, fingerprint: bigint): boolean {
    const found = this.minutes.get(minute)
    return found?.fingerprints.has(fingerprint) === true || found?.others.has(fingerprint) === true
  }
}
