import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { shiftDay } from '../../../src/domain/day.ts'
import { expire, isBeyondAsking, isReadable } from '../../../src/domain/plan/stream-state.ts'
import {
  at,
  buildCheckpoint,
  buildRecord,
  buildScan,
  buildTrouble,
  policy,
  stream,
  today,
} from '../builders.ts'

describe('a day that expires', () => {
  it('leaves a gap, of the day alone, exactly if no complete full scan began after its end', () => {
    const hours = fc.option(fc.double({ min: -9, max: 70, noNaN: true }), { nil: undefined })
    fc.assert(
      fc.property(hours, fc.boolean(), (beganAt, unfinished) => {
        const beganAtMs = beganAt === undefined ? undefined : at(beganAt)
        const before = buildCheckpoint({
          ...(beganAtMs !== undefined && { lastFull: buildRecord({ beganAtMs }) }),
          ...(unfinished && { full: buildScan({ beganAtMs: at(71) }), needsFull: true }),
        })
        const { checkpoint, gap } = expire(before, at(72))
        expect(checkpoint.ended).toEqual({ as: 'expired', atMs: at(72) })
        const { full, incremental, trouble, needsFull } = checkpoint
        expect({ full, incremental, trouble, needsFull }).toEqual({ needsFull: false })
        if (beganAtMs !== undefined && beganAtMs >= at(24)) expect(gap).toBeUndefined()
        else {
          const from = Math.max(beganAtMs ?? 0, at(0))
          expect(gap).toMatchObject({ ...stream, from, to: at(24), recordedAt: at(72) })
        }
      }),
    )
  })

  it.each([
    ['zone_gone', 'zone_gone'],
    ['page_too_large', 'too_large'],
    ['network', 'unreadable'],
  ] as const)('under %s leaves a gap that is %s', (code, reason) => {
    expect(expire(buildCheckpoint({ trouble: buildTrouble({ code }) }), at(72)).gap).toMatchObject({ reason })
  })
})

describe('a day before the readable ones', () => {
  it('is told by a clock: that of an answer that says so, or of another one', () => {
    const days = fc.integer({ min: -10, max: 10 })
    fc.assert(
      fc.property(days, fc.double({ min: 0, max: 23.99, noNaN: true }), (daysAgo, hours) => {
        const day = shiftDay(today, -daysAgo)
        expect(isReadable(day, at(hours), policy)).toBe(daysAgo < 3)
      }),
    )
  })

  it('is not requested more than four days after the end of a day', () => {
    expect(isBeyondAsking(stream.day, at(5 * 24), policy)).toBe(false)
    expect(isBeyondAsking(stream.day, at(5 * 24) + 1, policy)).toBe(true)
  })
})
