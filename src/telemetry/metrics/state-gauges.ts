import type { StateSnapshot } from '../../domain/plan/snapshot.ts'
import { keepLatest, within } from '../../domain/promises.ts'
import type { Clock } from '../../ports/process.ts'
import { labelText, type Series } from './exposition.ts'
import type { StateMetric } from './metric-definitions.ts'

export type StateSeries = Readonly<Record<StateMetric, Iterable<Series>>>

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
    const ageSeconds = (clock.monotonic() - (latest?.endedMs ?? 0)) / 1000
    return seriesOf(latest?.snapshot ?? nothing, { isUp, ageSeconds, isConfigured })
  }
}

const nothing: StateSnapshot = {
  routes: [],
  leftGaps: [],
  streams: { open: 0, settling: 0, complete: 0, expired: 0 },
  refusedAccounts: [],
  deadLetters: [],
  queues: [],
}

interface Standing {
  readonly isUp: boolean
  readonly ageSeconds: number
  readonly isConfigured: (zone: string, sink: string) => boolean
}

/**
 * Lag is always present once it was known: while the store does not answer, nothing is committed, so lag grows in real
 * time and an alert on it continues. Everything else is absent then.
 */
function seriesOf(
  { routes, leftGaps, streams, deadLetters, queues }: StateSnapshot,
  { isUp, ageSeconds, isConfigured }: Standing,
): StateSeries {
  const known = routes
    .filter(({ zone, sink }) => isConfigured(String(zone), sink))
    .map((route) => ({ route, labels: labelText({ zone: String(route.zone), sink: route.sink }) }))
  const present = isUp ? known : []
  const ifUp = <Row>(rows: readonly Row[]) => (isUp ? rows : [])
  return {
    state_up: [['', Number(isUp)]],
    zone_lag_seconds: known.map(({ labels, route }) => [labels, route.lagSeconds + ageSeconds]),
    time_to_loss_seconds: known.map(({ labels, route }) => [labels, route.timeToLossSeconds - ageSeconds]),
    zone_caught_up_timestamp_seconds: present.map(({ labels, route }) => [labels, route.caughtUpAtMs / 1000]),
    zone_newest_event_timestamp_seconds: present
      .filter(({ route }) => route.newestMs !== undefined)
      .map(({ labels, route }) => [labels, route.newestMs! / 1000]),
    gaps: [
      ...present.map(({ labels, route }): Series => [labels, route.gaps]),
      ...ifUp(leftGaps).map(({ zone, sink, gaps }): Series => [
        labelText({ zone: String(zone), sink }),
        gaps,
      ]),
    ],
    streams: ifUp(Object.entries(streams)).map(([state, count]) => [labelText({ state }), count]),
    dead_letters: ifUp(deadLetters).map(({ sink, count }) => [labelText({ sink }), count]),
    queue_jobs: ifUp(queues).map(({ jobs, ...labels }) => [labelText(labels), jobs]),
  }
}
