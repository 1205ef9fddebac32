import fc from 'fast-check'

const share = (...values: number[]) => fc.constantFrom(...values)

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** The host's wall clock is wrong by `byMs` for a while, or for ever; forwards or backwards. */
const aStep = fc
  .record({
    /** After the beginning of the run. */
    afterMs: fc.integer({ min: 0, max: 5 * dayMs }),
    forMs: fc.constantFrom(10_000, 600_000, 18_000_000, 2 * dayMs, null),
    byMs: fc.constantFrom(-10 * dayMs, -3 * dayMs, -hourMs, hourMs, 3 * dayMs, 10 * dayMs),
  })
  // A run goes on until the host's clock has passed its end too: not for ten days more.
  .map((step) => (step.forMs === null ? { ...step, byMs: Math.max(step.byMs, -3 * dayMs) } : step))

/** How the API of one run behaves: all that nobody knows about the real one. */
const aWorld = fc.record({
  /** `turning` is oldest-first and newest-first in turns of some hours. */
  order: fc.constantFrom('oldest-first', 'newest-first', 'arrival', 'arrival-newest', 'unordered', 'turning'),
  cursors: fc.constantFrom('offset', 'anchor', 'snapshot'),
  pageSize: fc.integer({ min: 2, max: 20 }),
  /** So many entries of a page stand on the next one again. */
  pageOverlap: share(0, 0, 0, 1),
  readableDays: share(3),
  /** For how many days the API answers; `readableDays` is what the settings say. */
  listedDays: share(3, 3, 12),
  /** How long a cursor lives; null for ever. */
  cursorLifeMs: fc.option(fc.integer({ min: 60_000, max: 2 * hourMs })),
  /** The API's clock minus the host's, and whether answers tell it. */
  skewMs: fc.oneof(
    fc.constant(0),
    fc.integer({ min: -2 * hourMs, max: 2 * hourMs }),
    fc.integer({ min: -400_000_000, max: 400_000_000 }),
  ),
  dates: fc.constantFrom('right', 'right', 'right', 'none', 'sometimes wrong', 'wrong in a row'),
  latencyMs: fc.integer({ min: 10, max: 2_000 }),
  failureShare: share(0, 0.01, 0.1),
  /** Share of pages before which empty pages with more to come stand, and how many stand there. */
  emptyShare: share(0, 0, 0.05),
  emptyRun: share(1, 1, 12, 40),
})

/** How often each fault strikes, as shares of the points where it can. */
const theFaults = fc.record({
  crash: share(0, 0, 0.001, 0.01),
  freeze: share(0, 0.002, 0.01),
  /** A commit that was written, its answer lost; and one that was never written. */
  lostAnswer: share(0, 0, 0.01),
  lostCommit: share(0, 0, 0.01),
  doubledCommit: share(0, 0.05),
  /** A process is asked to stop. */
  stop: share(0, 0, 0.003),
  /** A delivery that fails half-way. */
  sinkFailure: share(0, 0, 0.02),
  /** A page that would extend a load finds no memory. */
  noRoom: share(0, 0.1, 1),
  /** A request to the bucket: unwritten or written, failed or without an answer, or it arrives late. */
  bucket: share(0, 0.05, 0.3),
  /** The store loses its latest commits while a pump of objects goes on. */
  failover: share(0, 0, 0.02),
})

/** Between polls, for each page of each listing: about 20,000 requests in a run. */
const leastPauseMs = 20_000

interface Work {
  readonly world: { readonly pageSize: number; readonly pageOverlap: number }
  readonly zones: number
  readonly sinks: number
  readonly objects: boolean
  readonly perDay: number
  readonly everyMs: number
}

/** Frequent polls, and long listings of many streams, are each drawn: a run of both would take an hour in place of seconds. */
function withinMinutes<Options extends Work>(options: Options): Options {
  const { world, zones, sinks, objects, perDay, everyMs } = options
  const eventsOfPage = world.pageSize - world.pageOverlap
  const pauseMs = (leastPauseMs * zones * (sinks + Number(objects))) / eventsOfPage
  const rarer = Math.max(everyMs, Math.min(1_800_000, perDay * pauseMs))
  return { ...options, everyMs: rarer, perDay: Math.min(perDay, Math.max(5, Math.floor(rarer / pauseMs))) }
}

/** Any run. Most of what goes wrong is off in most runs, so that each fault is also seen alone. */
export const anyRun = fc
  .record({
    seed: fc.nat(),
    world: aWorld,
    zones: share(1, 1, 2),
    /** Of the files alone, or of the files and one or two HTTP sinks. */
    sinks: share(1, 1, 2, 3),
    /** A sink of numbered objects besides. */
    objects: fc.boolean(),
    /** Streams of one zone and day get one answer for the same page. */
    sharesPages: fc.boolean(),
    days: share(2),
    perDay: fc.integer({ min: 5, max: 120 }),
    /** Share of entries that no listing should hold. */
    oddShare: share(0, 0, 0.05),
    everyMs: share(60_000, 300_000, 900_000, 900_000, 1_800_000),
    overlapMs: share(0, 600_000, 1_200_000),
    /** When a load is full. */
    load: fc.record({ events: fc.integer({ min: 4, max: 100 }), pages: share(1, 3, 100, 100) }),
    /** Events in a body of the HTTP sink. */
    bodyEvents: fc.integer({ min: 1, max: 40 }),
    faults: theFaults,
    /** Times of trouble in all, the longest, and times at which listings are shorter than before. */
    troubles: fc.record({
      count: share(0, 0, 2, 5),
      longestMs: share(hourMs, 4 * hourMs, 200_000_000),
      shrinkings: share(0, 0, 5),
    }),
    /** How often the store is set back to a copy of itself, per turn of the schedule. */
    setBackShare: share(0, 0, 0, 0.01),
    clockSteps: fc.oneof(
      { weight: 2, arbitrary: fc.array(aStep, { maxLength: 0 }) },
      fc.array(aStep, { minLength: 1, maxLength: 2 }),
    ),
    /** How long the checkpoints of complete days are kept. */
    keepDays: share(0.01, 1, 3, 14),
    /** How often a person requests a full scan of some stream, per turn of the schedule. */
    readRequestShare: share(0, 0, 0.01),
    /** How often a person backfills an old day, per turn of the schedule. */
    backfillShare: share(0, 0, 0.01),
    /** How often an HTTP destination loses a day, and a person has it shipped once more. */
    resendShare: share(0, 0, 0.005),
    /** How often a person ships a day from the files of one sink to another, per turn of the schedule. */
    archiveShare: share(0, 0, 0.01, 0.05),
    /** The last sink is not configured for some time, often from the start, so that it has missed days. */
    away: fc.option(
      fc.record({
        afterMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2 * dayMs })),
        forMs: fc.integer({ min: hourMs, max: 3.5 * dayMs }),
      }),
    ),
    /** Many workers, of which one may freeze; otherwise one process that crashes and comes back. */
    fleet: fc.boolean(),
  })
  // Nobody can tell a wrong clock where answers have no time.
  .map((options) =>
    options.world.dates === 'none' ? { ...options, world: { ...options.world, skewMs: 0 } } : options,
  )
  .map(withinMinutes)

export type RunOptions = typeof anyRun extends fc.Arbitrary<infer Options> ? Options : never
