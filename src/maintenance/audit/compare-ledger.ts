import { unpackFingerprints, type MinuteCount, FingerprintSet, minuteOf } from '../../domain/event/seen.ts'
import type { Event } from '../../domain/event/event.ts'

/** A minute in which API and ledger differ. Counts are events. */
export interface MinuteDifference {
  readonly minute: number
  readonly listed: number
  readonly ledger: number
  /** Listed by the API, and not in the ledger. */
  readonly missing: number
  /** In the ledger, and not listed by the API. */
  readonly extra: number
  /** The missing events; undefined where the fingerprints were dropped and only counts remain. */
  readonly missingFingerprints?: readonly bigint[]
}

/** The ledger when the reading of the API began, and when it had ended. */
export interface Ledger {
  readonly before: readonly MinuteCount[]
  readonly after: readonly MinuteCount[]
}

/** Minutes that have to be compared event by event. */
export function differingMinutes(listing: DayListing, ledger: Ledger): number[] {
  const after = byMinute(ledger.after)
  const minutes = new Set([...listing.minutes.keys(), ...after.keys()])
  return [...minutes]
    .filter((minute) => {
      const listed = listing.minutes.get(minute)
      const held = after.get(minute)
      return sizeOf(listed) !== (held?.count ?? 0) || (listed?.hash ?? 0n) !== (held?.hash ?? 0n)
    })
    .sort((left, right) => left - right)
}

/** The other fingerprints of listed events that the ledger does not have under the listed one. */
export interface OtherFingerprints {
  /** Of the event that is listed under this fingerprint; several where entries that share an id are not told apart. */
  of(fingerprint: bigint): readonly bigint[]
  has(fingerprint: bigint): boolean
}

/**
 * Compares minutes event by event where fingerprints are stored, else by count and hash. `seen` is read after
 * `ledger.after`. Events that were committed while the API was read are not extra: the API may have listed them on a
 * page that the audit had already read. An event is in the ledger under the id that it shares with another one, or under
 * its own: that depends on how pages were cut.
 */
export function compareMinutes(
  minutes: readonly number[],
  listing: DayListing,
  ledger: Ledger,
  seen: ReadonlyMap<number, Uint8Array>,
  others: OtherFingerprints = noOthers,
): MinuteDifference[] {
  const [before, after] = [byMinute(ledger.before), byMinute(ledger.after)]
  return minutes.flatMap((minute) => {
    const listed = listing.minutes.get(minute)
    const held = { before: before.get(minute), after: after.get(minute) }
    const difference = compareMinute(minute, { listed, ...held }, seen.get(minute), others)
    return difference.missing + difference.extra > 0 ? [difference] : []
  })
}

interface MinuteSides {
  readonly listed: ListedMinute | undefined
  readonly before: MinuteCount | undefined
  readonly after: MinuteCount | undefined
}

const noOthers: OtherFingerprints = { of: () => [], has: () => false }

function compareMinute(
  minute: number,
  { listed, before, after }: MinuteSides,
  packed: Uint8Array | undefined,
  others: OtherFingerprints,
): MinuteDifference {
  const counts = { minute, listed: sizeOf(listed), ledger: after?.count ?? 0 }
  const seen = unpackFingerprints(packed ?? new Uint8Array())
  if (!proves(seen, after)) return { ...counts, ...byCounts(counts.listed, counts.ledger) }
  const known = new Set(seen)
  const missingFingerprints = [...(listed?.fingerprints ?? [])].filter(
    (each) => !known.has(each) && !others.of(each).some((other) => known.has(other)),
  )
  const isListed = (fingerprint: bigint) =>
    listed?.fingerprints.has(fingerprint) === true ||
    listed?.shared.has(fingerprint) === true ||
    others.has(fingerprint)
  const extra = extraOf(seen, isListed, before)
  return { ...counts, missing: missingFingerprints.length, extra, missingFingerprints }
}

/** Fingerprints are appended, so those of an earlier ledger come first; its hash shows whether that is the case. */
export function proves(seen: readonly bigint[], ledger: MinuteCount | undefined): boolean {
  if (ledger === undefined) return true
  if (seen.length < ledger.count) return false
  let hash = 0n
  for (const fingerprint of seen.slice(0, ledger.count)) hash = BigInt.asUintN(64, hash + fingerprint)
  return hash === ledger.hash
}

function extraOf(
  seen: readonly bigint[],
  isListed: (fingerprint: bigint) => boolean,
  before: MinuteCount | undefined,
): number {
  const count = before?.count ?? 0
  if (proves(seen, before)) return seen.slice(0, count).filter((each) => !isListed(each)).length
  return Math.max(0, seen.filter((each) => !isListed(each)).length - (seen.length - count))
}

/** The difference of a minute by counts, if its events are not known: how many are missing, and how many extra. */
export function byCounts(wanted: number, found: number): { missing: number; extra: number } {
  const more = wanted - found
  // The same number of events, but different ones: at least one of each kind.
  if (more === 0) return { missing: 1, extra: 1 }
  return { missing: Math.max(0, more), extra: Math.max(0, -more) }
}

function sizeOf(listed: ListedMinute | undefined): number {
  return listed?.fingerprints.size ?? 0
}

function byMinute(ledger: readonly MinuteCount[]): Map<number, MinuteCount> {
  return new Map(ledger.map((entry) => [entry.minute, entry]))
}

/** The events of one minute as the API lists them. */
interface ListedMinute {
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
