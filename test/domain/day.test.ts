import * as fc from 'fast-check'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import {
  dayMs,
  dayOf,
  daysBetween,
  daysFrom,
  endOf,
  hasDay,
  parseDay,
  shiftDay,
  startOf,
  withDay,
  withoutDay,
  type DayRange,
} from '../../src/domain/day.ts'
import { runCommand } from '../setup/run-command.ts'

/** 1973 to 2100, far more days than are kept at hand. */
const instants = fc.integer({ min: 1e11, max: 4_102_444_800_000 })

it('a day is the UTC calendar day of its instants, independent of earlier calls, and shifts by whole days', () => {
  fc.assert(
    fc.property(instants, fc.integer({ min: -50, max: 50 }), (atMs, by) => {
      const day = dayOf(atMs)
      expect(day).toBe(new Date(atMs).toISOString().slice(0, 10))
      expect(parseDay(day)).toBe(day)
      expect([dayOf(startOf(day)), dayOf(endOf(day) - 1)]).toEqual([day, day])
      expect(endOf(day) - startOf(day)).toBe(dayMs)
      const shifted = shiftDay(day, by)
      expect([daysBetween(day, shifted), shiftDay(shifted, -by)]).toEqual([by, day])
      const between = Array.from({ length: Math.max(0, by + 1) }, (_, index) => shiftDay(day, index))
      expect(daysFrom(day, shifted)).toEqual(between)
    }),
    { numRuns: 500 },
  )
})

it('a day is refused if it is invalid', () => {
  for (const text of ['2026-02-30', '2026-2-3', '11-20-2026', '2026-02-03T00:00:00Z', ' 2026-02-03', ''])
    expect(parseDay(text)).toBeUndefined()
  expect(() => dayOf(Number.NaN)).toThrow(RangeError)
})

it.each([
  ['America/New_York', [-300, -240]],
  ['Pacific/Apia', [780]],
])('days are UTC days on a host in %s', async (zone, offsets) => {
  const script = join(import.meta.dirname, 'day-in-zone.ts')
  const { stdout } = await runCommand(process.execPath, [script], { env: { TZ: zone } })
  expect(JSON.parse(stdout)).toEqual({ offsets })
})

it('ranges of days hold the days that were added and not taken out, as few ranges as possible, in order', () => {
  const first = dayOf(1.8e12)
  const numbers = Array.from({ length: 12 }, (_, number) => number)
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat({ max: 11 }))), (changes) => {
      const days = new Set<number>()
      let ranges: readonly DayRange[] = []
      for (const [isAdded, number] of changes) {
        if (isAdded) days.add(number)
        else days.delete(number)
        ranges = (isAdded ? withDay : withoutDay)(ranges, shiftDay(first, number))
      }
      expect(numbers.filter((number) => hasDay(ranges, shiftDay(first, number)))).toEqual(
        numbers.filter((number) => days.has(number)),
      )
      const isFirst = (number: number) => days.has(number) && !days.has(number - 1)
      expect(ranges.map(([from]) => from)).toEqual(
        numbers.filter(isFirst).map((number) => shiftDay(first, number)),
      )
    }),
  )
})
