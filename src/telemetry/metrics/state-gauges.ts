import type { StateSnapshot } from '../../domain/plan/snapshot.ts'
import { keepLatest, within } from '../../domain/promises.ts'
import type { Clock } from '../../ports/process.ts'
import { labelText, type Series } from './exposition.ts'
import type { StateMetric } from './metric-definitions.ts'

/** A metric that is absent has no series now. */
export type StateSeries = Readonly<Partial<Record<StateMetric, Iterable<Series>>>>

const freshMs = 3000
/** Below the usual scrape timeout of 10 s. */
const patienceMs = 4000

/** Reads the gauges of shared state from the store, in bounded time even when the store hangs. */
export function createStateGauges(
  read: () => Promise<StateSnapshot>,
  clock: Clock,
): (isConfigured: (zone: string, sink: string) => boolean) => Promise<StateSeries> {
  let latest:
    { readonly snapshot: StateSnapshot; readonly beganMs: number; readonly endedMs: number } | undefined

  async function readNow(): Promise<void> {
    const beganMs = clock.monotonic()
    const snapshot = await read()
    // A reading that nobody waits for any more may end after a later one.
    if (latest === undefined || latest.beganMs <= beganMs)
      latest = { snapshot, beganMs, endedMs: clock.monotonic() }
  }

  const reading = keepLatest(readNow, freshMs, clock)
  return async (isConfigured) => {
    const isUp = (await within(patienceMs, reading.read(), clock).catch(() => 'late')) !== 'late'
    const up = { state_up: [['', Number(isUp)]] } as const
    if (latest === undefined) return up
    const { snapshot, endedMs } = latest
    const routes = snapshot.routes
      .filter(({ zone, sink }) => isConfigured(String(zone), sink))
      .map((route) => ({ ...route, labels: labelText({ zone: route.zone, sink: route.sink }) }))
    const age = (clock.monotonic() - endedMs) / 1000
    return { ...up, ...lastingSeries(routes, age), ...(isUp && presentSeries(snapshot, routes)) }
  }
}

type LabelledRoute = StateSnapshot['routes'][number] & { readonly labels: string }

/**
 * Lag is always present once it was known: while the store does not answer, nothing is committed, so lag grows in real
 * time and an alert on it continues. Everything else is absent then.
 */
function lastingSeries(routes: readonly LabelledRoute[], ageSeconds: number): StateSeries {
  return {
    zone_lag_seconds: routes.map(({ labels, lagSeconds }) => [labels, lagSeconds + ageSeconds]),
    time_to_loss_seconds: routes.map(({ labels, timeToLossSeconds }) => [
      labels,
      timeToLossSeconds - ageSeconds,
    ]),
  }
}

function presentSeries(
  { leftGaps, streams, deadLetters, queues }: StateSnapshot,
  routes: readonly LabelledRoute[],
): StateSeries {
  return {
    zone_caught_up_timestamp_seconds: routes.map(({ labels, caughtUpAtMs }) => [labels, caughtUpAtMs / 1000]),
    zone_newest_event_timestamp_seconds: routes.flatMap(({ labels, newestMs }): Series[] =>
      newestMs === undefined ? [] : [[labels, newestMs / 1000]],
    ),
    gaps: [
      ...routes.map(({ labels, gaps }): Series => [labels, gaps]),
      ...leftGaps.map(({ gaps, ...labels }): Series => [labelText(labels), gaps]),
    ],
    streams: Object.entries(streams).map(([state, count]) => [labelText({ state }), count]),
    dead_letters: deadLetters.map(({ sink, count }) => [labelText({ sink }), count]),
    queue_jobs: queues.map(({ jobs, ...labels }) => [labelText(labels), jobs]),
  }
}
