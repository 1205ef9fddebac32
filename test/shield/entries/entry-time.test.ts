import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { entryTimeOf } from '../../../src/shield/entries/identities.ts'

describe('time', () => {
  it.each([
    [1_763_640_000, '2025-11-20T12:00:00.000Z'],
    [1_763_640_000.5, '2025-11-20T12:00:00.500Z'],
    [1_763_640_000_123, '2025-11-20T12:00:00.123Z'],
    [1_763_640_000_123.9, '2025-11-20T12:00:00.123Z'],
    [1_763_640_000_123_456, '2025-11-20T12:00:00.123456Z'],
    ['1763640000', '2025-11-20T12:00:00.000Z'],
    ['1763640000.25', '2025-11-20T12:00:00.250Z'],
    [' 1763640000123 ', '2025-11-20T12:00:00.123Z'],
    ['1763640000123456', '2025-11-20T12:00:00.123456Z'],
    ['1763640000123456789', '2025-11-20T12:00:00.123456789Z'],
    ['99999999999999999999', '5138-11-16T09:46:39.999999999Z'],
    ['2025-11-20T12:00:00Z', '2025-11-20T12:00:00.000Z'],
    ['2025-11-20T14:00:00.5+02:00', '2025-11-20T12:00:00.500Z'],
  ])('%j', (timestamp, time) => expect(entryTimeOf(timestamp)?.time).toBe(time))

  it('adds no digits that a number has lost', () => {
    expect(entryTimeOf(JSON.parse('1763640000123456789'))).toEqual({
      time: '2025-11-20T12:00:00.123456Z',
      timeMs: 1_763_640_000_123,
    })
  })

  it('is none of anything else', () => {
    const numbers = [0, -1, 1e7, 1e20, 1e300, NaN, Infinity]
    const texts = ['', 'soon', '12', '-5', '100000000000000000000']
    for (const timestamp of [...numbers, ...texts, null, true, {}, []])
      expect(entryTimeOf(timestamp)).toBeUndefined()
  })

  it('is the same instant in any unit', () => {
    const seconds = fc.integer({ min: 1e8, max: 99_999_999_999 })
    fc.assert(
      fc.property(seconds, fc.nat({ max: 999_999_999 }), (whole, nanos) => {
        const timeMs = whole * 1000 + Math.floor(nanos / 1e6)
        const digits = `${whole}${String(nanos).padStart(9, '0')}`
        expect(entryTimeOf(whole)?.timeMs).toBe(whole * 1000)
        expect(entryTimeOf(timeMs)?.timeMs).toBe(timeMs)
        expect(entryTimeOf(digits.slice(0, -3))?.timeMs).toBe(timeMs)
        expect(entryTimeOf(digits)?.timeMs).toBe(timeMs)
        expect(entryTimeOf(digits)?.time.endsWith(`${digits.slice(-9)}Z`)).toBe(true)
        for (const read of [whole, timeMs, digits].map(entryTimeOf))
          expect(Date.parse(read?.time ?? '')).toBe(read?.timeMs)
      }),
    )
  })
})
