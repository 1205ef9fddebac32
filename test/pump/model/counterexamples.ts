import type { RunOptions } from './any-run.ts'

type WorldOptions = RunOptions['world']
type FaultShares = RunOptions['faults']

const calmWorld: WorldOptions = {
  order: 'oldest-first',
  cursors: 'snapshot',
  pageSize: 2,
  pageOverlap: 0,
  readableDays: 3,
  listedDays: 3,
  cursorLifeMs: null,
  skewMs: 0,
  dates: 'right',
  latencyMs: 10,
  failureShare: 0,
  emptyShare: 0,
  emptyRun: 1,
}
const calm = {
  zones: 1,
  sinks: 1,
  objects: false,
  days: 2,
  oddShare: 0,
  overlapMs: 600_000,
  troubles: { count: 0, longestMs: 0, shrinkings: 0 },
  setBackShare: 0,
  clockSteps: [],
  keepDays: 14,
  readRequestShare: 0,
  backfillShare: 0,
  resendShare: 0,
  archiveShare: 0,
  away: null,
  fleet: true,
  load: { events: 10_000, pages: 1 },
  bodyEvents: 1_000,
  sharesPages: false,
}
const noFaults: FaultShares = {
  crash: 0,
  freeze: 0,
  lostAnswer: 0,
  lostCommit: 0,
  doubledCommit: 0,
  stop: 0,
  sinkFailure: 0,
  noRoom: 0,
  bucket: 0,
  failover: 0,
}

type Own = Pick<RunOptions, 'seed' | 'perDay' | 'everyMs'> & Partial<RunOptions>

/**
 * Runs that break a promise where a rule of the pump is taken away, each with what was wrong without it, and how it differs
 * from a calm run. One that no longer fails then shows nothing: random numbers are drawn in another order since.
 */
const broken: readonly (readonly [string, Own, Partial<WorldOptions>, Partial<FaultShares>])[] = [
  [
    'an incremental scan beside an unfinished full one read its snapshot to the end and took that for proof',
    { seed: 1, days: 1, perDay: 20, everyMs: 600_000, fleet: false },
    { latencyMs: 60_000 },
    {},
  ],
  [
    'a back-off that was written while the time was wrong kept a day from being read',
    { seed: 3, perDay: 20, everyMs: 1_800_000 },
    {
      order: 'arrival',
      pageOverlap: 1,
      cursorLifeMs: 60_018,
      skewMs: -399_999_975,
      dates: 'sometimes wrong',
      latencyMs: 964,
      failureShare: 0.01,
    },
    { crash: 0.02, freeze: 0.002 },
  ],
  [
    'a day that was shipped and pruned was shipped again to whoever asked for it, from an API that still listed it',
    { seed: 4, perDay: 5, everyMs: 1_800_000, keepDays: 0.01, backfillShare: 0.05 },
    { pageSize: 20, listedDays: 12 },
    {},
  ],
  [
    'by a clock that was days ahead at boot a scan had to meet none of the known events, and its day was complete',
    {
      seed: 14,
      perDay: 8,
      everyMs: 1_800_000,
      overlapMs: 0,
      troubles: { count: 0, longestMs: 0, shrinkings: 5 },
      clockSteps: [{ afterMs: 22_199_545, forMs: 172_800_000, byMs: 259_200_000 }],
      load: { events: 4, pages: 1 },
      bodyEvents: 1,
      fleet: false,
    },
    { order: 'arrival', cursors: 'offset', pageSize: 20 },
    { crash: 0.04 },
  ],
  [
    'of the events that a scan need not meet any more those with an own id were counted, which it never had to meet',
    {
      seed: 890535757,
      perDay: 60,
      oddShare: 0.05,
      everyMs: 900_000,
      load: { events: 75, pages: 100 },
      bodyEvents: 6,
      troubles: { count: 5, longestMs: 3_600_000, shrinkings: 5 },
      keepDays: 0.01,
      readRequestShare: 0.01,
    },
    {
      order: 'arrival',
      cursors: 'anchor',
      pageSize: 10,
      listedDays: 12,
      cursorLifeMs: 6_626_813,
      dates: 'sometimes wrong',
      latencyMs: 1012,
      emptyShare: 0.05,
    },
    { freeze: 0.01, lostAnswer: 0.01, sinkFailure: 0.02, bucket: 0.05, failover: 0.02 },
  ],
]

export const counterexamples = broken.map(([why, own, world, faults]) => {
  const options: RunOptions = {
    ...calm,
    ...own,
    world: { ...calmWorld, ...world },
    faults: { ...noFaults, ...faults },
  }
  return { why, options }
})
