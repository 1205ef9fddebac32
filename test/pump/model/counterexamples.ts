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

/** Runs that once broke a promise, each with what was wrong, and how it differs from a calm one. */
const broken: readonly (readonly [string, Own, Partial<WorldOptions>, Partial<FaultShares>])[] = [
  [
    'all lines of a frozen writer were kept when the day ended, although others had shipped one of their events',
    {
      seed: 858_851_567,
      zones: 2,
      sinks: 2,
      oddShare: 0.05,
      troubles: { count: 2, longestMs: 14_400_000, shrinkings: 0 },
      setBackShare: 0.01,
      perDay: 61,
      everyMs: 900_000,
      overlapMs: 1_200_000,
    },
    {
      cursors: 'offset',
      pageSize: 20,
      pageOverlap: 1,
      cursorLifeMs: 153_354,
      skewMs: -229_141_555,
      dates: 'sometimes wrong',
      latencyMs: 12,
      failureShare: 0.01,
    },
    { freeze: 0.01 },
  ],
  [
    'a pump that slept between its fence and its cuts cut what another one had committed since',
    { seed: 80, days: 3, perDay: 50, everyMs: 300_000, overlapMs: 1_200_000 },
    { order: 'arrival', cursors: 'anchor', pageSize: 20, latencyMs: 1398, failureShare: 0.01 },
    { crash: 0.01, freeze: 0.002, lostAnswer: 0.01, lostCommit: 0.01, doubledCommit: 0.02 },
  ],
  [
    'a process that came back with a clock behind the API waited for polls that were long due',
    { seed: 67, days: 3, perDay: 184, everyMs: 300_000, overlapMs: 1_200_000, fleet: false },
    {
      order: 'arrival',
      cursors: 'offset',
      pageSize: 9,
      cursorLifeMs: 3_082_391,
      skewMs: 6_290_239,
      latencyMs: 844,
    },
    { crash: 0.01, freeze: 0.01, doubledCommit: 0.02 },
  ],
  [
    'an incremental scan beside an unfinished full one read its snapshot to the end and took that for proof',
    { seed: 1, days: 1, perDay: 80, everyMs: 180_000, fleet: false },
    { latencyMs: 2000 },
    {},
  ],
  [
    'a first answer with a wrong Date made a day complete that was not over',
    {
      seed: 2,
      troubles: { count: 2, longestMs: 200_000_000, shrinkings: 0 },
      perDay: 92,
      everyMs: 1_800_000,
    },
    {
      order: 'arrival',
      pageOverlap: 1,
      cursorLifeMs: 60_018,
      skewMs: -399_999_975,
      dates: 'sometimes wrong',
      latencyMs: 964,
      failureShare: 0.01,
    },
    { crash: 0.001, freeze: 0.002 },
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
    'days that nobody read were no gaps at an API that sends no Date, since its time was never known',
    { seed: 877_176_779, setBackShare: 0.01, perDay: 8, everyMs: 900_000, fleet: false },
    { order: 'unordered', pageSize: 14, cursorLifeMs: 60_008, dates: 'none' },
    { freeze: 0.01, doubledCommit: 0.05, stop: 0.003 },
  ],
  [
    'two answers with a Date that was days behind ended all requests: every day of that time had ended',
    {
      seed: 1_768_504_614,
      zones: 2,
      perDay: 117,
      everyMs: 60_000,
      troubles: { count: 2, longestMs: 200_000_000, shrinkings: 0 },
      keepDays: 3,
    },
    {
      emptyRun: 12,
      order: 'newest-first',
      pageSize: 16,
      pageOverlap: 1,
      dates: 'wrong in a row',
      latencyMs: 763,
      failureShare: 0.01,
    },
    { crash: 0.001 },
  ],
  [
    'a day ended by a wall clock and by answers that were both days ahead, each by other days',
    {
      seed: 0,
      perDay: 5,
      everyMs: 60_000,
      overlapMs: 0,
      clockSteps: [{ afterMs: 0, forMs: 172_800_000, byMs: 864_000_000 }],
      keepDays: 0.01,
      fleet: false,
    },
    { cursors: 'offset', dates: 'wrong in a row' },
    {},
  ],
  [
    'a host that is two days ahead, and answers of one server that agree with it',
    { seed: 0, perDay: 5, everyMs: 60_000, overlapMs: 0, setBackShare: 0.01, keepDays: 3 },
    {
      cursors: 'offset',
      cursorLifeMs: 60_000,
      skewMs: -161_579_670,
      dates: 'wrong in a row',
      latencyMs: 290,
    },
    { lostAnswer: 0.01 },
  ],
  [
    'a process that began with a clock days behind polled a day again that was complete and pruned',
    { seed: 23, perDay: 20, everyMs: 1_800_000, keepDays: 0.01 },
    { cursors: 'offset', pageSize: 20, dates: 'wrong in a row' },
    { crash: 0.04 },
  ],
  [
    'a day that was shipped and pruned was shipped again to whoever asked for it, from an API that still listed it',
    { seed: 4, perDay: 20, everyMs: 900_000, keepDays: 0.01, sinks: 2, objects: true, backfillShare: 0.05 },
    { listedDays: 12 },
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
