import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fingerprintOf } from '../../../src/domain/event/fingerprint.ts'
import {
  countMinute,
  FingerprintSet,
  minuteOf,
  packFingerprints,
  unpackFingerprints,
  untimedMinute,
} from '../../../src/domain/event/seen.ts'

/** Many share their low bits, where they meet in the set; 0 and the largest are among them. */
const fingerprint = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  fc
    .tuple(fc.bigInt({ min: 0n, max: 200n }), fc.constantFrom(0n, 1n, 63n))
    .map(([high, low]) => (high << 32n) | low),
  fc.constantFrom(0n, 2n ** 64n - 1n),
)

describe('a set of fingerprints', () => {
  it('behaves like a Set', () => {
    fc.assert(
      fc.property(fc.array(fingerprint, { maxLength: 500 }), fc.array(fingerprint), (added, asked) => {
        const set = new FingerprintSet()
        const model = new Set<bigint>()
        for (const each of added) {
          expect(set.add(each)).toBe(!model.has(each))
          model.add(each)
        }
        expect(set.size).toBe(model.size)
        for (const each of [...asked, ...added]) expect(set.has(each)).toBe(model.has(each))
        expect(new Set(set)).toEqual(model)
        const packed = new FingerprintSet()
        packed.addPacked(packFingerprints(added))
        expect(packed.size).toBe(model.size)
      }),
    )
  })
})

describe('seen', () => {
  it('packs eight bytes per event, and reads them back from any offset in a buffer', () => {
    fc.assert(
      fc.property(fc.array(fingerprint), fc.nat({ max: 7 }), (some, offset) => {
        const packed = packFingerprints(some)
        expect(packed.byteLength).toBe(some.length * 8)
        const moved = new Uint8Array(packed.byteLength + offset)
        moved.set(packed, offset)
        expect(unpackFingerprints(moved.subarray(offset))).toEqual(some)
      }),
    )
  })

  it('has the same count and hash of a minute for any order, and different ones for different events', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fingerprint, { minLength: 1 }), fc.nat(), (some, turn) => {
        const turned = [...some.slice(turn % some.length), ...some.slice(0, turn % some.length)]
        const count = countMinute(7, packFingerprints(some))
        expect(countMinute(7, packFingerprints(turned))).toEqual(count)
        expect(countMinute(7, packFingerprints(some.slice(1)))).not.toEqual(count)
      }),
    )
  })

  it('has one bucket for events without a time, and one for each minute', () => {
    expect(minuteOf(undefined)).toBe(untimedMinute)
    expect([0, 59_999, 60_000].map(minuteOf)).toEqual([0, 0, 1])
  })
})

it('a fingerprint depends on id and time, and is the same everywhere', () => {
  expect(fingerprintOf({ id: 'a' })).toBe(0x87428fc422803d31n)
  expect(fingerprintOf({ id: 'a' })).not.toBe(fingerprintOf({ id: 'a', time: '2026-01-01T00:00:00.000Z' }))
})
