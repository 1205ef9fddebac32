import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import { shiftDay, startOf } from '../../../src/domain/day.ts'
import { caughtUpOf, lagOfRoute, oldestUnfinished } from '../../../src/domain/plan/lag.ts'
import { plan } from '../../../src/domain/plan/plan.ts'
import type { Route } from '../../../src/domain/stream.ts'
import { unknownOrdering, type Ordering } from '../../../src/domain/scan/ordering.ts'
import { anyCheckpoint } from './any-input.ts'
import { advanceScan } from '../../../src/domain/scan/scan.ts'
import {
  at,
  buildCheckpoint,
  buildFacts,
  buildRecord,
  buildScan,
  buildTrouble,
  cursorAt,
  hourMs,
  minuteMs,
  policy,
  stream,
  today,
} from '../builders.ts'

const zone = { id: stream.zone, name: 'zone', account: 'a' }

function planned(checkpoints: readonly Checkpoint[], nowMs: number, routes: readonly Route[]) {
  const sinks = [stream.sink]
  return plan({ nowOf: () => nowMs, zones: [zone], sinks, policy, checkpoints, routes })
}

function lagOf(checkpoints: readonly Checkpoint[], nowMs: number): number {
  const routes = [{ zone: zone.id, sink: stream.sink, firstDay: shiftDay(today, -2), plannedAtMs: nowMs }]
  return lagOfRoute(planned(checkpoints, nowMs, routes), nowMs, policy).lagSeconds * 1000
}

/** Any checkpoints of three days, whatever their scans claim. */
const someDays = fc.array(anyCheckpoint).map((all) =>
  [0, 1, 2].flatMap((daysAgo) => {
    const day = shiftDay(today, -daysAgo)
    return all
      .filter((each) => each.stream.day === day)
      .slice(0, 1)
      .map((each) => ({ ...each, stream: { ...stream, day } }))
  }),
)

describe('lag', () => {
  it('exists, is not negative, and grows while nothing is read, unless the end of a day was read', () => {
    // Not past midnight: what an unread day lags behind ends as lost when the API no longer has it.
    const hours = fc.double({ min: 0, max: 23.99, noNaN: true })
    fc.assert(
      fc.property(someDays, hours, hours, (checkpoints, one, other) => {
        const [before, after] = [Math.min(one, other), Math.max(one, other)].map((hour) =>
          lagOf(checkpoints, at(hour)),
        ) as [number, number]
        expect(before >= 0 && after < Infinity).toBe(true)
        const isOver = checkpoints.some(
          ({ ended, stream: { day }, caughtUpAtMs = 0 }) =>
            ended !== undefined || caughtUpAtMs >= startOf(shiftDay(day, 1)),
        )
        if (!isOver) expect(after).toBeGreaterThanOrEqual(before - 1)
      }),
    )
  })

  it('counts from the beginning of the day if nothing was read yet', () => {
    expect(lagOf([], at(5))).toBe(53 * hourMs)
    expect(caughtUpOf({ stream, checkpoint: undefined }, policy)).toBe(at(0))
  })

  describe('during a first scan with an inherited ordering', () => {
    const oldestFirst = { order: 'oldest-first', cursorProven: true, revocations: 0 } as const
    /** Reads pages of half an hour that begin at these hours, and tells how far the stream is caught up then. */
    function caughtUpBy(hours: readonly number[], ordering: Ordering = oldestFirst): number {
      let scan = buildScan()
      for (const [index, hour] of hours.entries()) {
        const [oldestMs, newestMs] = [at(hour), at(hour + 0.5)]
        const times = { oldestMs, newestMs, latestMs: newestMs }
        const facts = buildFacts({ cursor: scan.cursor, next: cursorAt(index), ...times })
        scan = advanceScan(scan, facts, { order: ordering.order, polled: null }).scan
      }
      const checkpoint = buildCheckpoint({ ordering, full: scan, lastCommitAtMs: at(20) })
      return caughtUpOf({ stream, checkpoint }, policy)
    }

    it('counts from the oldest event of the last page once the pages show that they go from old to new', () => {
      expect(caughtUpBy([1, 2, 3, 4])).toBe(at(4) - 10 * minuteMs)
      expect(caughtUpBy([1, 2])).toBe(at(2) - 10 * minuteMs)
      expect(caughtUpBy([1, 2, 3, 4], unknownOrdering)).toBe(at(0))
      expect(caughtUpBy([1, 2, 30]), 'not beyond the last commit').toBe(at(20))
    })

    it.each([
      { order: 'of a first page alone', hours: [8] },
      { order: 'newest-first', hours: [8, 7, 6, 5] },
      { order: 'newest-first within the overlap', hours: [8, 7.95, 7.9, 7.85] },
      { order: 'by parts of the day, not the first one first', hours: [4, 5, 9, 1] },
      { order: 'that turns round', hours: [1, 2, 9, 3] },
      { order: 'without any', hours: [5, 1, 8, 2, 6, 3] },
    ])('counts from the beginning of the day for a listing $order', ({ hours }) => {
      expect(caughtUpBy(hours)).toBe(at(0))
    })
  })

  describe('of a day that is no longer polled', () => {
    const yesterday = { ...stream, day: shiftDay(today, -1) }
    const done = { lastFull: buildRecord({ beganAtMs: at(0.4) }), caughtUpAtMs: at(0.5) }
    const now = buildCheckpoint({ caughtUpAtMs: at(6.9), lastFull: buildRecord() })
    const older = buildCheckpoint({
      stream: { ...stream, day: shiftDay(today, -2) },
      ended: { as: 'complete', atMs: 1 },
    })
    const lag = (more: Partial<Checkpoint>, hours: number) =>
      lagOf([now, older, buildCheckpoint({ stream: yesterday, ...done, ...more })], at(hours))

    it('does not count while its scans are done in time', () => {
      expect(lag({}, 0.55)).toBe(0)
      expect(lag({ lastFull: buildRecord({ beganAtMs: at(0.5) }) }, 6.01)).toBe(0)
    })

    it('counts once a scan is overdue, fails, or has to be done again', () => {
      const scanned = { lastFull: buildRecord({ beganAtMs: at(0.5) }) }
      expect(lag(scanned, 7)).toBe(6.5 * hourMs)
      expect(lag({ ...scanned, needsFull: true }, 3)).toBe(2.5 * hourMs)
      expect(lag({ ...scanned, trouble: buildTrouble() }, 3)).toBe(2.5 * hourMs)
    })

    it('counts as long as its end was not read', () => {
      expect(lag({ caughtUpAtMs: at(-2) }, 0.51)).toBe(2.51 * hourMs)
    })
  })
})

it('the oldest unfinished day is the one that becomes unreadable first', () => {
  const old = { ...stream, day: shiftDay(today, -2) }
  const timeToLoss = (checkpoints: readonly Checkpoint[], nowMs: number) =>
    oldestUnfinished(planned(checkpoints, nowMs, []))!.unreadableAtMs - nowMs
  expect(timeToLoss([], at(5))).toBe(19 * hourMs)
  const complete = buildCheckpoint({ stream: old, ended: { as: 'complete', atMs: at(1) } })
  expect(timeToLoss([complete], at(5))).toBe(43 * hourMs)
  expect(timeToLoss([buildCheckpoint({ stream: old })], at(25))).toBe(-hourMs)
  expect(oldestUnfinished([])).toBeUndefined()
})
