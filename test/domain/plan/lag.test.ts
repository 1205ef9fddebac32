import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import { shiftDay, startOf } from '../../../src/domain/day.ts'
import { caughtUpOf, caughtUpOfRoute, oldestUnfinished } from '../../../src/domain/plan/lag.ts'
import { plan } from '../../../src/domain/plan/plan.ts'
import {
  at,
  buildCheckpoint,
  buildRecord,
  buildScan,
  hourMs,
  minuteMs,
  policy,
  stream,
  today,
} from '../builders.ts'

const zone = { id: stream.zone, name: 'zone', account: 'a' }

function lagOf(checkpoints: readonly Checkpoint[], nowMs: number): number {
  const routes = [{ zone: zone.id, sink: stream.sink, firstDay: shiftDay(today, -2), plannedAtMs: nowMs }]
  const sinks = [stream.sink]
  const planned = plan({ nowOf: () => nowMs, zones: [zone], sinks, policy, checkpoints, routes })
  return nowMs - caughtUpOfRoute(planned, nowMs, policy)
}

/** Any checkpoint of one of three days, whatever its scans claim. */
const anyCheckpoint = fc
  .record({
    daysAgo: fc.nat({ max: 2 }),
    caughtUpHours: fc.option(fc.double({ min: -1, max: 80, noNaN: true }), { nil: undefined }),
    lastFullHours: fc.option(fc.double({ min: -1, max: 70, noNaN: true }), { nil: undefined }),
    oldestHours: fc.option(fc.double({ min: 0, max: 100, noNaN: true }), { nil: undefined }),
    order: fc.constantFrom('unknown' as const, 'oldest-first' as const, 'newest-first' as const),
    needsFull: fc.boolean(),
    complete: fc.boolean(),
  })
  .map(({ daysAgo, caughtUpHours, lastFullHours, oldestHours, order, needsFull, complete }) => {
    const day = shiftDay(today, -daysAgo)
    const hour = (hours: number) => startOf(day) + hours * hourMs
    return buildCheckpoint({
      stream: { ...stream, day },
      ordering: { order, cursorProven: true, revocations: 0 },
      needsFull,
      ...(caughtUpHours !== undefined && { caughtUpAtMs: hour(caughtUpHours) }),
      ...(lastFullHours !== undefined && { lastFull: buildRecord({ beganAtMs: hour(lastFullHours) }) }),
      ...(oldestHours !== undefined && { oldestOnPageMs: hour(oldestHours) }),
      ...(complete && { ended: { as: 'complete' as const, atMs: hour(68) } }),
    })
  })
const someDays = fc.uniqueArray(anyCheckpoint, { selector: (each) => each.stream.day })

describe('lag', () => {
  it('exists and is not negative for any content of the store', () => {
    fc.assert(
      fc.property(someDays, fc.double({ min: 0, max: 24, noNaN: true }), (checkpoints, hours) => {
        const lag = lagOf(checkpoints, at(hours))
        expect(lag).toBeGreaterThanOrEqual(0)
        expect(lag).toBeLessThan(Infinity)
      }),
    )
  })

  it('grows while nothing is read, except for a day whose end was read and that is no longer polled', () => {
    const unread = someDays.map((all) => all.filter(({ ended }) => ended === undefined))
    // Not past midnight: what an unread day lags behind ends as lost when the API no longer has it.
    const hours = fc.double({ min: 0, max: 23.99, noNaN: true })
    fc.assert(
      fc.property(unread, hours, hours, (checkpoints, one, other) => {
        const endIsRead = checkpoints.some(
          ({ stream: { day }, caughtUpAtMs = 0 }) => caughtUpAtMs >= startOf(shiftDay(day, 1)),
        )
        fc.pre(!endIsRead)
        const [earlier, later] = one < other ? [one, other] : [other, one]
        const [before, after] = [lagOf(checkpoints, at(earlier)), lagOf(checkpoints, at(later))]
        expect(after).toBeGreaterThanOrEqual(before - 1)
      }),
    )
  })

  it('counts from the beginning of the day if nothing was read yet', () => {
    expect(lagOf([], at(5))).toBe(53 * hourMs)
    expect(caughtUpOf({ stream, checkpoint: undefined }, policy)).toBe(at(0))
  })

  it('counts from the oldest event of the last page during a first scan that is known to read from old to new', () => {
    const first = { oldestOnPageMs: at(4), lastCommitAtMs: at(6), full: buildScan({ pages: 9 }) }
    const ordering = { order: 'oldest-first', cursorProven: true, revocations: 0 } as const
    expect(caughtUpOf({ stream, checkpoint: buildCheckpoint({ ...first, ordering }) }, policy)).toBe(
      at(4) - 10 * minuteMs,
    )
    expect(caughtUpOf({ stream, checkpoint: buildCheckpoint(first) }, policy)).toBe(at(0))
    const future = buildCheckpoint({ ...first, ordering, oldestOnPageMs: at(20) })
    expect(caughtUpOf({ stream, checkpoint: future }, policy)).toBe(at(6))
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
      const trouble = {
        kind: 'retry',
        code: 'network',
        message: '',
        count: 2,
        sinceMs: 1,
        atMs: 1,
        retryAtMs: 2,
      } as const
      expect(lag({ ...scanned, trouble }, 3)).toBe(2.5 * hourMs)
    })

    it('counts as long as its end was not read', () => {
      expect(lag({ caughtUpAtMs: at(-2) }, 0.51)).toBe(2.51 * hourMs)
    })
  })
})

describe('time to loss', () => {
  it('is until the oldest unfinished day becomes unreadable, and below zero from then on', () => {
    const sinks = [stream.sink]
    const old = { ...stream, day: shiftDay(today, -2) }
    const planned = (checkpoints: readonly Checkpoint[], nowMs: number) =>
      plan({ nowOf: () => nowMs, zones: [zone], sinks, policy, checkpoints, routes: [] })
    const timeToLossOf = (streams: Parameters<typeof oldestUnfinished>[0], nowMs: number) => {
      const oldest = oldestUnfinished(streams)
      return oldest === undefined ? undefined : oldest.unreadableAtMs - nowMs
    }
    expect(timeToLossOf(planned([], at(5)), at(5))).toBe(19 * hourMs)
    const complete = buildCheckpoint({ stream: old, ended: { as: 'complete', atMs: at(1) } })
    expect(timeToLossOf(planned([complete], at(5)), at(5))).toBe(43 * hourMs)
    const open = buildCheckpoint({ stream: old })
    expect(timeToLossOf(planned([open], at(25)), at(25))).toBe(-hourMs)
    expect(timeToLossOf([], at(5))).toBeUndefined()
  })
})
