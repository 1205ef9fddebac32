import { minuteOf, unpackFingerprints, untimedMinute, type MinuteCount } from '../../domain/event/seen.ts'
import type { Sighting } from '../../pump/seen-window.ts'
import type { FoundEvents } from '../../days/found-events.ts'

interface LedgerSide {
  /** The ledger when the reading of the other side began, and when it had ended. */
  readonly before: readonly MinuteCount[]
  readonly after: readonly MinuteCount[]
  /** Packed fingerprints of some minutes, read after `after`. */
  load(minutes: readonly number[]): Promise<ReadonlyMap<number, Uint8Array>>
  /** Events of the ledger that were never delivered, so that they cannot be found. */
  readonly waiting?: readonly Sighting[]
}

export interface MinuteDifference {
  readonly minute: number
  readonly found: number
  readonly ledger: number
  /** Found, and not in the ledger. */
  readonly unknown: number
  /** In the ledger, and not found. */
  readonly lacking: number
  /** Fingerprints of both; undefined where the ledger has dropped its own, and only counts remain. */
  readonly events?: { readonly unknown: readonly bigint[]; readonly lacking: readonly bigint[] }
}

/** Start of a minute of event time, ISO 8601; null for events without a time. */
export function minuteText(minute: number): string | null {
  return minute === untimedMinute ? null : new Date(minute * 60_000).toISOString()
}

const minutesAtOnce = 60

/**
 * Compares the minutes whose count or hash differ: event by event where fingerprints are stored, else by count and hash.
 * Events that were committed after `before` are not lacking: the API may have listed them on a page that was already
 * read. An event is in the ledger under the id that it shares with another one, or under its own: that depends on how
 * pages were cut.
 */
export async function compareWithLedger(found: FoundEvents, ledger: LedgerSide): Promise<MinuteDifference[]> {
  const byMinute = (counts: readonly MinuteCount[]) => new Map(counts.map((each) => [each.minute, each]))
  const [before, after] = [byMinute(ledger.before), byMinute(ledger.after)]
  const waiting = Map.groupBy(ledger.waiting ?? [], ({ timeMs }) => minuteOf(timeMs))

  function countsOf(minute: number) {
    const { fingerprints, hash: foundHash = 0n } = found.minutes.get(minute) ?? {}
    let { count, hash } = after.get(minute) ?? { count: 0, hash: 0n }
    for (const { fingerprint } of waiting.get(minute) ?? []) {
      count--
      hash = BigInt.asUintN(64, hash - fingerprint)
    }
    const counts = { minute, found: fingerprints?.size ?? 0, ledger: count }
    return { ...counts, isEqual: counts.found === count && foundHash === hash }
  }

  function compareMinute(minute: number, packed: Uint8Array | undefined): MinuteDifference {
    const { isEqual: _, ...counts } = countsOf(minute)
    const seen = unpackFingerprints(packed ?? new Uint8Array())
    if (!proves(seen, after.get(minute))) return { ...counts, ...byCounts(counts.found, counts.ledger) }
    const inLedger = new Set(seen)
    for (const { fingerprint } of waiting.get(minute) ?? []) inLedger.delete(fingerprint)
    const unknown = [...(found.minutes.get(minute)?.fingerprints ?? [])].filter(
      (each) =>
        !inLedger.has(each) && !(found.noted.get(each)?.others ?? []).some((other) => inLedger.has(other)),
    )
    const isLacking = (each: bigint) => inLedger.has(each) && !found.has(minute, each)
    const early = before.get(minute)
    const isEarlyKnown = proves(seen, early)
    const lacking = (isEarlyKnown ? seen.slice(0, early?.count ?? 0) : seen).filter(isLacking)
    // Where it is not known which events are later ones, all of these count as found.
    const later = isEarlyKnown ? 0 : seen.length - (early?.count ?? 0)
    const events = { unknown, lacking }
    return { ...counts, unknown: unknown.length, lacking: Math.max(0, lacking.length - later), events }
  }

  const minutes = [...new Set([...found.minutes.keys(), ...after.keys()])]
    .filter((minute) => !countsOf(minute).isEqual)
    .sort((left, right) => left - right)
  const differences: MinuteDifference[] = []
  for (let from = 0; from < minutes.length; from += minutesAtOnce) {
    const some = minutes.slice(from, from + minutesAtOnce)
    const seen = await ledger.load(some)
    differences.push(...some.map((minute) => compareMinute(minute, seen.get(minute))))
  }
  return differences.filter(({ unknown, lacking }) => unknown + lacking > 0)
}

/** Fingerprints are appended, so those of an earlier ledger come first; its hash shows whether that is the case. */
function proves(seen: readonly bigint[], ledger: MinuteCount | undefined): boolean {
  if (ledger === undefined) return true
  if (seen.length < ledger.count) return false
  let hash = 0n
  for (const fingerprint of seen.slice(0, ledger.count)) hash = BigInt.asUintN(64, hash + fingerprint)
  return hash === ledger.hash
}

function byCounts(found: number, ledger: number): { unknown: number; lacking: number } {
  // The same number of events, but different ones: at least one of each kind.
  if (found === ledger) return { unknown: 1, lacking: 1 }
  return { unknown: Math.max(0, found - ledger), lacking: Math.max(0, ledger - found) }
}
