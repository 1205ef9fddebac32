import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { fingerprintOf } from '../../../src/domain/event/fingerprint.ts'
import { countMinute, packFingerprints, type MinuteCount } from '../../../src/domain/event/seen.ts'
import { compareWithLedger } from '../../../src/tasks/audit/compare.ts'
import { FoundEvents } from '../../../src/days/found-events.ts'

// Few of each, so that minutes and events meet; 0 is a fingerprint like any other.
const fingerprint = fc.nat({ max: 12 }).map((id) => (id === 0 ? 0n : fingerprintOf({ id: String(id) })))
const minute = fc.constantFrom(-1, 0, 7)
const events = fc.uniqueArray(fc.tuple(minute, fingerprint), { selector: String, maxLength: 30 })
type Place = readonly [minute: number, fingerprint: bigint]

const sightingOf = ([at, each]: Place) => ({
  fingerprint: each,
  ...(at !== -1 && { timeMs: at * 60_000 + 5 }),
})

function foundOf(places: readonly Place[]): FoundEvents {
  const found = new FoundEvents()
  for (const place of places) found.add(sightingOf(place))
  return found
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
  return places
    .map(String)
    .filter((each) => !known.has(each))
    .toSorted()
}

test('finds exactly the differences from the ledger, whatever is committed meanwhile', async () => {
  const property = fc.asyncProperty(
    events,
    events,
    fc.nat({ max: 30 }),
    fc.nat({ max: 5 }),
    async (listed, shipped, cut, later) => {
      // The ledger before the reading, after it, and the fingerprints as they are read a little later.
      const [early, late] = [shipped.slice(0, cut), shipped.slice(0, cut + later)]
      const found = foundOf([...listed, ...listed])
      const sides = { before: ledgerOf(early), after: ledgerOf(late), load: async () => packedOf(shipped) }
      const differences = await compareWithLedger(found, sides)
      const unknown = differences.flatMap((each) =>
        (each.events?.unknown ?? []).map((one) => String([each.minute, one])),
      )
      expect(unknown.toSorted()).toEqual(without(listed, shipped))
      expect(differences.reduce((sum, { lacking }) => sum + lacking, 0)).toBe(without(early, listed).length)
      expect(found.count).toBe(listed.length)
    },
  )
  await fc.assert(property, { numRuns: 300 })
})

test('events of the ledger that were never delivered are not lacking, and unknown where they are found', async () => {
  const property = fc.asyncProperty(events, events, fc.nat({ max: 10 }), async (lines, seen, waiting) => {
    const [dead, shipped] = [seen.slice(0, waiting), seen.slice(waiting)]
    const [before, load] = [ledgerOf(seen), async () => packedOf(seen)]
    const sides = { before, after: before, load, waiting: dead.map(sightingOf) }
    const differences = await compareWithLedger(foundOf(lines), sides)
    const named = (of: 'unknown' | 'lacking') =>
      differences
        .flatMap((each) => (each.events?.[of] ?? []).map((one) => String([each.minute, one])))
        .toSorted()
    expect(named('lacking')).toEqual(without(shipped, lines))
    expect(named('unknown')).toEqual(without(lines, shipped))
  })
  await fc.assert(property, { numRuns: 200 })
})

test('compares by counts and hashes where the fingerprints are gone, or contradict the ledger', async () => {
  const found = foundOf([
    [0, 1n],
    [0, 2n],
    [7, 3n],
  ])
  const ledger = ledgerOf([
    [0, 1n],
    [7, 4n],
    [9, 5n],
  ])
  for (const held of [new Map(), packedOf([[7, 3n]])])
    expect(await compareWithLedger(found, { before: ledger, after: ledger, load: async () => held })).toEqual(
      [
        { minute: 0, found: 2, ledger: 1, unknown: 1, lacking: 0 },
        { minute: 7, found: 1, ledger: 1, unknown: 1, lacking: 1 },
        { minute: 9, found: 0, ledger: 1, unknown: 0, lacking: 1 },
      ],
    )
})
