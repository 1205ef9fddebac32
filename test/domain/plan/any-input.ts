import fc from 'fast-check'
import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import { shiftDay } from '../../../src/domain/day.ts'
import type { Route } from '../../../src/domain/stream.ts'
import { at, buildCheckpoint, buildRecord, buildScan, buildTrouble, today } from '../builders.ts'

export const zones = [1, 2, 3].map((id) => ({ id, name: `zone${id}`, account: id === 3 ? 'b' : 'a' }))
export const sinks = ['archive', 'siem']

export const anyCheckpoint: fc.Arbitrary<Checkpoint> = fc
  .record({
    zone: fc.integer({ min: 1, max: 4 }),
    daysAgo: fc.integer({ min: -1, max: 12 }),
    sink: fc.constantFrom('archive', 'siem', 'gone'),
    order: fc.constantFrom('unknown' as const, 'oldest-first' as const, 'newest-first' as const),
    revocations: fc.nat({ max: 2 }),
    began: fc.option(fc.nat({ max: 24 }), { nil: undefined }),
    retryHours: fc.option(fc.nat({ max: 24 }), { nil: undefined }),
    polled: fc.option(fc.nat({ max: 24 }), { nil: undefined }),
    pollPages: fc.nat({ max: 80 }),
    needsFull: fc.boolean(),
    caughtUp: fc.option(fc.double({ min: -40, max: 30, noNaN: true }), { nil: undefined }),
    reading: fc.option(fc.double({ min: -40, max: 30, noNaN: true }), { nil: undefined }),
    ended: fc.option(fc.constantFrom('complete' as const, 'expired' as const), { nil: undefined }),
  })
  .map(({ zone, daysAgo, sink, order, revocations, began, polled, retryHours, ended, ...more }) =>
    buildCheckpoint({
      stream: { zone, day: shiftDay(today, -daysAgo), sink },
      ordering: { order, cursorProven: false, revocations },
      needsFull: more.needsFull,
      pollPagesSinceFull: more.pollPages,
      ...(more.caughtUp !== undefined && { caughtUpAtMs: at(more.caughtUp) }),
      ...(more.reading !== undefined && {
        full: buildScan({
          firstPageNewestMs: at(more.reading - 1),
          newestBeforeMs: at(more.reading),
          oldestOnPageMs: at(more.reading),
        }),
      }),
      ...(polled !== undefined && { lastIncremental: buildRecord({ beganAtMs: at(polled) }) }),
      ...(began !== undefined && { lastFull: buildRecord({ beganAtMs: at(began) }) }),
      ...(ended && { ended: { as: ended, atMs: 1 } }),
      ...(retryHours !== undefined && { trouble: buildTrouble({ retryAtMs: at(retryHours) }) }),
    }),
  )
export const anyRoute: fc.Arbitrary<Route> = fc.record({
  zone: fc.integer({ min: 1, max: 4 }),
  sink: fc.constantFrom(...sinks),
  firstDay: fc.integer({ min: -5, max: 9 }).map((daysAgo) => shiftDay(today, -daysAgo)),
  plannedAtMs: fc.integer({ min: -240, max: 12 }).map(at),
  pruned: fc.option(
    fc
      .tuple(fc.integer({ min: 5, max: 9 }), fc.integer({ min: 2, max: 4 }))
      .map(([from, to]) => [[shiftDay(today, -from), shiftDay(today, -to)] as const]),
    { nil: undefined },
  ),
})
