import fc from 'fast-check'
import type { RunOptions } from './run.ts'
import { cursorKinds, dateKinds, orders } from './world.ts'

const share = (...values: number[]) => fc.constantFrom(...values)

const dayMs = 86_400_000

/** Forwards and backwards, for seconds or for ever. */
const aStep = fc
  .record({
    afterMs: fc.integer({ min: 0, max: 5 * dayMs }),
    forMs: fc.constantFrom(10_000, 600_000, 18_000_000, 2 * dayMs, null),
    byMs: fc.constantFrom(-10 * dayMs, -3 * dayMs, -3_600_000, 3_600_000, 3 * dayMs, 10 * dayMs),
  })
  // A run goes on until the host's clock has passed its end too: not for ten days more.
  .map((step) => (step.forMs === null ? { ...step, byMs: Math.max(step.byMs, -3 * dayMs) } : step))

/** Any run. Most of what goes wrong is off in most runs, so that each fault is also seen alone. */
export const anyRun: fc.Arbitrary<RunOptions> = fc
  .record({
    seed: fc.nat(),
    world: fc.record({
      order: fc.constantFrom(...orders),
      cursors: fc.constantFrom(...cursorKinds),
      pageSize: fc.integer({ min: 2, max: 20 }),
      pageOverlap: share(0, 0, 0, 1),
      readableDays: fc.constant(3),
      cursorLifeMs: fc.option(fc.integer({ min: 60_000, max: 7_200_000 })),
      skewMs: fc.oneof(
        fc.constant(0),
        fc.integer({ min: -7_200_000, max: 7_200_000 }),
        fc.integer({ min: -400_000_000, max: 400_000_000 }),
      ),
      dates: fc.constantFrom('right' as const, 'right' as const, ...dateKinds),
      latencyMs: fc.integer({ min: 10, max: 2_000 }),
      failureShare: share(0, 0.01, 0.1),
      emptyShare: share(0, 0, 0.05),
      emptyRun: share(1, 1, 12, 40),
    }),
    zones: share(1, 1, 2),
    sinks: share(1, 1, 2, 3),
    objects: fc.boolean(),
    sharesPages: fc.boolean(),
    days: fc.constant(2),
    perDay: fc.integer({ min: 5, max: 120 }),
    oddShare: share(0, 0, 0.05),
    everyMs: share(60_000, 300_000, 900_000, 900_000, 1_800_000),
    overlapMs: share(0, 600_000, 1_200_000),
    load: fc.record({ events: fc.integer({ min: 4, max: 100 }), pages: share(1, 3, 100, 100) }),
    bodyEvents: fc.integer({ min: 1, max: 40 }),
    faults: fc.record({
      crash: share(0, 0, 0.001, 0.01),
      freeze: share(0, 0.002, 0.01),
      lostAnswer: share(0, 0, 0.01),
      lostCommit: share(0, 0, 0.01),
      doubledCommit: share(0, 0.05),
      stop: share(0, 0, 0.003),
      sinkFailure: share(0, 0, 0.02),
      noRoom: share(0, 0.1, 1),
      bucket: share(0, 0.05, 0.3),
      failover: share(0, 0, 0.02),
    }),
    troubles: fc.record({
      count: share(0, 0, 2, 5),
      longestMs: share(3_600_000, 14_400_000, 200_000_000),
    }),
    setBackShare: share(0, 0, 0, 0.01),
    clockSteps: fc.oneof(
      { weight: 2, arbitrary: fc.constant([]) },
      fc.array(aStep, { minLength: 1, maxLength: 2 }),
    ),
    keepDays: share(0.01, 1, 3, 14),
    readRequestShare: share(0, 0, 0.01),
    fleet: fc.boolean(),
  })
  // Nobody can tell a wrong clock where answers have no time.
  .map((options) =>
    options.world.dates === 'none' ? { ...options, world: { ...options.world, skewMs: 0 } } : options,
  )
