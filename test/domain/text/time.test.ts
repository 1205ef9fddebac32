import fc from 'fast-check'
import { expect, it } from 'vitest'
import { iso } from '../../../src/domain/text/time.ts'

it('writes every instant as Date does, in and beyond the years of four digits', () => {
  const instants = fc.oneof(
    fc.date({ noInvalidDate: true }).map((date) => date.getTime()),
    fc
      .date({
        min: new Date('1999-12-31T00:00:00Z'),
        max: new Date('2040-01-01T00:00:00Z'),
        noInvalidDate: true,
      })
      .map((date) => date.getTime()),
    fc.constantFrom(0, -1, 951_782_400_000, 253_402_300_799_999, 253_402_300_800_000, 1_700_000_000_000.75),
  )
  fc.assert(
    fc.property(instants, (atMs) => iso(atMs) === new Date(atMs).toISOString()),
    { numRuns: 2000 },
  )
})

it('refuses a number that is no instant', () => {
  for (const wrong of [NaN, Infinity, 8.65e15]) expect(() => iso(wrong)).toThrow(RangeError)
})
