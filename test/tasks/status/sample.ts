import { problemsOf, type ProblemFacts, type LeftRoute } from '../../../src/status/problems.ts'
import type { Day } from '../../../src/domain/day.ts'
import type { BackfillStatus, RouteStatus, Status } from '../../../src/status/fleet.ts'
import { paintFor } from '../../../src/terminal/text.ts'

export const at = '2026-11-20T14:03:12.000Z'

export function terminal(columns: number, hasColors = false, rows = 50) {
  return paintFor({ write: () => undefined, isTTY: true, columns, rows, hasColors: () => hasColors })
}

export const piped = () => paintFor({ write: () => undefined })

type DayStatus = RouteStatus['days'][number]
type GapStatus = RouteStatus['gaps'][number]

export const day = (changes: Partial<Record<keyof DayStatus, unknown>> = {}) =>
  ({
    day: '2026-11-20',
    state: 'open',
    lagSeconds: 9,
    order: 'newest-first',
    events: 10,
    delivered: 182_440,
    pages: 1825,
    duplicates: 0,
    late: 0,
    deadLetters: 0,
    lastFullScanAt: undefined,
    scanningPages: undefined,
    lastError: undefined,
    ...changes,
  }) as DayStatus

export const route = (changes: Partial<RouteStatus> = {}): RouteStatus => ({
  zone: 101,
  name: 'shop',
  account: 'default',
  sink: 'archive',
  state: 'up_to_date',
  lagSeconds: 9,
  caughtUpAt: '2026-11-20T14:03:03.000Z',
  newestEventAt: '2026-11-20T14:03:09.000Z',
  unfinished: { day: '2026-11-20', apiDeadlineAt: '2026-11-23T00:00:00.000Z' },
  days: [day()],
  gaps: [],
  ...changes,
})

export const failing = route({
  sink: 'siem',
  state: 'failing',
  lagSeconds: 720,
  newestEventAt: '2026-11-20T13:51:12.000Z',
  unfinished: { day: '2026-11-20', apiDeadlineAt: '2026-11-22T11:03:12.000Z' },
  days: [day({ delivered: 174_021 })],
  lastError: {
    code: 'server_error',
    message:
      'https://siem.example/in answered 503: the indexer is not available at the moment, try again later',
    failures: 6,
    since: '2026-11-20T13:52:00.000Z',
    retryAt: '2026-11-20T14:04:00.000Z',
  },
})

const quiet = {
  zone: 102,
  name: 'blog',
  lagSeconds: 11,
  newestEventAt: undefined,
  days: [day({ delivered: 0 })],
}

/** With the problems that it has. */
/** `lost`: gaps of routes that left. */
export function statusWith({
  lost = [],
  ...changes
}: Partial<Omit<Status, 'problems'>> & { readonly lost?: readonly GapStatus[] } = {}): Status {
  const status = { ...plain, ...changes }
  const gaps = status.routes.flatMap(({ zone, sink, gaps: own }) =>
    own.map((each) => ({ zone, sink, ...each })),
  )
  const routes = status.routes.map((summary) => {
    const live = summary.days.map((each) => ({ stream: each, checkpoint: { counters: each } }))
    return { summary, planned: { live } }
  })
  const left = lost.map((each) => ({ zone: 9, sink: 'siem', ...each }))
  const settings = { policy: { readableDays: 3 } }
  const none = { settings, foreign: [], differences: [], blindSinks: [] }
  const facts = { ...status, ...none, routes, gaps: [...gaps, ...left] } as unknown as ProblemFacts
  return { ...status, problems: problemsOf(facts) }
}

const backfill = {
  id: '5f0c1d2e3a',
  createdAt: '2026-11-20T13:57:00.000Z',
  from: '2026-11-18' as Day,
  to: '2026-11-20' as Day,
  state: 'running' as BackfillStatus['state'],
  queued: 3,
  done: 3,
  leftOut: 0,
  reasons: [],
  errors: [],
  share: 0.41,
  days: [
    {
      day: '2026-11-18' as Day,
      queued: 3,
      done: 3,
      leftOut: 0,
      pages: 41,
      expectedPages: 100,
      events: 1_200_000,
    },
  ],
}
const startedAt = '2026-11-17T10:00:00.000Z'

const plain: Omit<Status, 'problems'> = {
  at,
  routes: [route(), failing, route({ ...quiet, sink: 'archive' }), route({ ...quiet, sink: 'siem' })],
  deadLetters: [
    { sink: 'siem', reason: 'refused', count: 9, bytes: 900 },
    { sink: 'siem', reason: 'too_large', count: 3, bytes: 300 },
  ],
  unconfigured: [],
  workers: [
    {
      role: 'all',
      name: `process 812 on host siem-1, since ${startedAt}`,
      pid: 812,
      host: 'siem-1',
      startedAt,
    },
  ],
  backfills: [backfill, { ...backfill, id: 'finished01', state: 'done' }],
}

export const status = statusWith()

export const gap = (changes: Partial<Record<keyof GapStatus, unknown>> = {}) =>
  ({
    day: '2026-11-17',
    from: '2026-11-17T00:00:00.000Z',
    to: '2026-11-18T00:00:00.000Z',
    reason: 'unreadable',
    recordedAt: '2026-11-20T00:01:00.000Z',
    acknowledgedAt: undefined,
    ...changes,
  }) as GapStatus

/** A route that left the configuration. */
export const leftRoute = (changes: Partial<LeftRoute> = {}): LeftRoute => ({
  zone: 9,
  sink: 'siem',
  unfinishedDays: [],
  unreadDays: [],
  left: 'sink',
  ...changes,
})
