import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { fingerprintOf } from '../../../src/domain/event/fingerprint.ts'
import { countMinute, packFingerprints, type MinuteCount } from '../../../src/domain/event/seen.ts'
import {
  compareMinutes,
  differingMinutes,
  DayListing,
} from '../../../src/maintenance/audit/compare-ledger.ts'

// Few of each, so that minutes and events meet; 0 is a fingerprint like any other.
const fingerprint = fc.nat({ max: 12 }).map((id) => (id === 0 ? 0n : fingerprintOf({ id: String(id) })))
const minute = fc.constantFrom(-1, 0, 7)
const event = fc.tuple(minute, fingerprint)
const events = fc.uniqueArray(event, { selector: String, maxLength: 30 })
type Place = readonly [minute: number, fingerprint: bigint]

function listingOf(places: readonly Place[]): DayListing {
  const listing = new DayListing()
  for (const [at, each] of places) {
    const time = at === -1 ? {} : { timeMs: at * 60_000 + 5 }
    listing.add({ fingerprint: each, ...time })
  }
  return listing
}

function packedOf(places: readonly Place[]): Map<number, Uint8Array> {
  const groups = Map.groupBy(places, ([at]) => at)
  return new Map([...groups].map(([at, group]) => [at, packFingerprints(group.map(([, each]) => each))]))
}

function ledgerOf(places: readonly Place[]): MinuteCount[] {
  return [...packedOf(places)].map(([at, bytes]) => countMinute(at, bytes))
}

function without(places: readonly Place[], others: readonly Place[]): string[] {
  const known = new Set(others.map(String))
  return places.map(String).filter((each) => !known.has(each))
}

test('finds exactly the differences between API and ledger, whatever is committed meanwhile', () => {
  const property = fc.property(
    events,
    events,
    fc.nat({ max: 30 }),
    fc.nat({ max: 5 }),
    (listed, shipped, cut, later) => {
      // The ledger before the reading, after it, and the fingerprints as they are read a little later.
      const [early, late] = [shipped.slice(0, cut), shipped.slice(0, cut + later)]
      const listing = listingOf([...listed, ...listed])
      const ledger = { before: ledgerOf(early), after: ledgerOf(late) }
      const minutes = differingMinutes(listing, ledger)
      const differences = compareMinutes(minutes, listing, ledger, packedOf(shipped))
      const found = differences.flatMap(({ minute: at, missingFingerprints = [] }) =>
        missingFingerprints.map((each) => String([at, each])),
      )
      let extra = 0
      for (const difference of differences) extra += difference.extra
      // A minute whose count and hash agree is not looked at: there API and ledger had the same events.
      expect(found.toSorted()).toEqual(
        without(listed, shipped)
          .filter((each) => minutes.includes(Number(each.split(',')[0])))
          .toSorted(),
      )
      expect(without(listed, shipped).length).toBe(found.length)
      expect(extra).toBe(without(early, listed).length)
      expect(listing.events).toBe(listed.length)
    },
  )
  fc.assert(property, { numRuns: 300 })
})

test('compares by counts and hashes if the fingerprints are gone', () => {
  const listed: Place[] = [
    [0, 1n],
    [0, 2n],
    [7, 3n],
  ]
  const shipped: Place[] = [
    [0, 1n],
    [7, 4n],
    [9, 5n],
  ]
  const ledger = { before: ledgerOf(shipped), after: ledgerOf(shipped) }
  const listing = listingOf(listed)
  const differences = compareMinutes(differingMinutes(listing, ledger), listing, ledger, new Map())
  expect(differences).toEqual([
    { minute: 0, listed: 2, ledger: 1, missing: 1, extra: 0 },
    { minute: 7, listed: 1, ledger: 1, missing: 1, extra: 1 },
    { minute: 9, listed: 0, ledger: 1, missing: 0, extra: 1 },
  ])
})

test('ignores fingerprints that the ledger contradicts', () => {
  const listing = listingOf([[0, 1n]])
  const ledger = { before: ledgerOf([[0, 2n]]), after: ledgerOf([[0, 2n]]) }
  const [difference] = compareMinutes([0], listing, ledger, packedOf([[0, 1n]]))
  expect(difference).toEqual({ minute: 0, listed: 1, ledger: 1, missing: 1, extra: 1 })
})
