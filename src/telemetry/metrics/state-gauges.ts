import { isOpenGap } from '../../domain/gap.ts'
import { keepLatest, within } from '../../domain/promises.ts'
import type { Observation } from '../../domain/status/observation.ts'
import type { Clock } from '../../ports/process.ts'
import type { Stream } from '../../domain/stream.ts'
import { labelText, type Series } from './exposition.ts'
import type { StateMetric } from './metric-definitions.ts'

/** A metric that is absent has no series now. */
export type StateSeries = Readonly<Partial<Record<StateMetric, Iterable<Series>>>>

const freshMs = 3000
/** Below the usual scrape timeout of 10 s. */
const patienceMs = 4000

/** Reads the gauges of shared state from the store, in bounded time even when the store hangs. */
export function createStateGauges(
  read: () => Promise<Observation>,
  clock: Clock,
): (isConfigured: (zone: string, sink: string) => boolean) => Promise<StateSeries> {
  let latest:
    { readonly observed: Observation; readonly beganMs: number; readonly endedMs: number } | undefined

  async function readNow(): Promise<void> {
    const beganMs = clock.monotonic()
    const observed = await read()
    // A reading that nobody waits for any more may end after a later one.
    if (latest === undefined || latest.beganMs <= beganMs)
      latest = { observed, beganMs, endedMs: clock.monotonic() }
  }

  const reading = keepLatest(readNow, freshMs, clock)
  return async (isConfigured) => {
    const isUp = (await within(patienceMs, reading.read(), clock).catch(() => 'late')) !== 'late'
    const up = { state_up: [['', Number(isUp)]] } as const
    if (latest === undefined) return up
    const { observed, endedMs } = latest
    const routes = observed.routes
      .filter(({ summary: { zone, sink } }) => isConfigured(String(zone), sink))
      .map((route) => ({ ...route, labels: routeLabels(route.summary) }))
    const age = (clock.monotonic() - endedMs) / 1000
    return { ...up, ...lastingSeries(routes, age), ...(isUp && presentSeries(observed, routes)) }
  }
}

type LabelledRoute = Observation['routes'][number] & { readonly labels: string }

function routeLabels({ zone, sink }: Pick<Stream, 'zone' | 'sink'>): string {
  return labelText({ zone, sink })
}

/**
 * Lag is always present once it was known: while the store does not answer, nothing is committed, so lag grows in real
 * time and an alert on it continues. Everything else is absent then.
 */
function lastingSeries(routes: readonly LabelledRoute[], ageSeconds: number): StateSeries {
  return {
    zone_lag_seconds: routes.map(({ labels, time, caughtUpAtMs }) => [
      labels,
      (time.nowMs - caughtUpAtMs) / 1000 + ageSeconds,
    ]),
    time_to_loss_seconds: routes.map(({ labels, summary: { timeToLossSeconds = Infinity } }) => [
      labels,
      timeToLossSeconds - ageSeconds,
    ]),
  }
}

function presentSeries(
  { settings: { sinks }, gaps, streams, deadLetters, queues }: Observation,
  routes: readonly LabelledRoute[],
): StateSeries {
  return {
    zone_caught_up_timestamp_seconds: routes.map(({ labels, caughtUpAtMs }) => [labels, caughtUpAtMs / 1000]),
    zone_newest_event_timestamp_seconds: routes.flatMap(({ labels, newestMs }): Series[] =>
      newestMs === undefined ? [] : [[labels, newestMs / 1000]],
    ),
    gaps: sums(
      routes.map(({ labels }) => labels),
      gaps.filter(isOpenGap).map((gap) => [routeLabels(gap), 1]),
    ),
    streams: Object.entries(streams).map(([state, count]) => [labelText({ state }), count]),
    dead_letters: sums(
      sinks.map((sink) => labelText({ sink })),
      deadLetters.flatMap(({ sink, count }) => (sinks.includes(sink) ? [[labelText({ sink }), count]] : [])),
    ),
    queue_jobs: queues.map(({ jobs, ...labels }) => [labelText(labels), jobs]),
  }
}

/** The sum of the counts by labels; 0 for known labels without a count. */
function sums(known: readonly string[], counts: readonly Series[]): ReadonlyMap<string, number> {
  const all = new Map(known.map((labels) => [labels, 0]))
  for (const [labels, count] of counts) all.set(labels, (all.get(labels) ?? 0) + count)
  return all
}
