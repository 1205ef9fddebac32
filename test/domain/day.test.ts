import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  dayMs,
  dayOf,
  daysBetween,
  daysFrom,
  endOf,
  parseDay,
  shiftDay,
  startOf,
} from '../../src/domain/day.ts'
import { join } from 'node:path'
import { runCommand } from '../setup/run-command.ts'

/** 1973 to 2100, far more days than are kept at hand. */
const instants = fc.integer({ min: 1e11, max: 4_102_444_800_000 })
const shifts = fc.integer({ min: -3_000, max: 3_000 })

describe('a day', () => {
  it('is the UTC calendar day of its instants, independent of earlier calls', () => {
    fc.assert(
      fc.property(instants, (atMs) => {
        const day = dayOf(atMs)
        expect(day).toBe(new Date(atMs).toISOString().slice(0, 10))
        expect(parseDay(day)).toBe(day)
        expect(startOf(day) <= atMs && atMs < endOf(day)).toBe(true)
        expect([dayOf(startOf(day)), dayOf(endOf(day) - 1)]).toEqual([day, day])
        expect(endOf(day) - startOf(day)).toBe(dayMs)
      }),
      { numRuns: 5_000 },
    )
  })

  it('shifts by whole days', () => {
    fc.assert(
      fc.property(instants, shifts, (atMs, by) => {
        const day = dayOf(atMs)
        const shifted = shiftDay(day, by)
        expect(daysBetween(day, shifted)).toBe(by)
        expect(shiftDay(shifted, -by)).toBe(day)
        const between = daysFrom(day, shifted)
        expect(between.length).toBe(Math.max(0, by + 1))
        expect(between.every((each, index) => each === shiftDay(day, index))).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  it('is refused if it is invalid', () => {
    for (const text of ['2026-02-30', '2026-2-3', '11-20-2026', '2026-02-03T00:00:00Z', ' 2026-02-03', ''])
      expect(parseDay(text)).toBeUndefined()
    expect(() => dayOf(Number.NaN)).toThrow(RangeError)
  })
})

it.each([
  ['America/New_York', [-300, -240]],
  ['Asia/Tokyo', [540]],
  ['Pacific/Apia', [780]],
])('days are UTC days on a host in %s', async (zone, offsets) => {
  const script = join(import.meta.dirname, 'day-in-zone.ts')
  const { stdout } = await runCommand(process.execPath, [script], { env: { TZ: zone } })
  expect(JSON.parse(stdout)).toEqual({ offsets })
})
