import { Gauge } from 'prom-client'
import type { Registry } from 'prom-client'
import type { StateSnapshot } from '../domain/plan/snapshot.ts'
import type { Clock } from '../ports/clock.ts'
import type { Labels, LabelSets } from './label-sets.ts'
import { stateMetrics } from './metric-definitions.ts'
import type { MetricDefinition } from './metric-definition.ts'
import { createStateReading } from './state-reading.ts'

export interface StateGauges {
  /** Reads the store and sets the gauges, in bounded time even when the store hangs. */
  refresh(sets: LabelSets): Promise<void>
  outdate(): void
}

type StateMetric = keyof typeof stateMetrics

export function createStateGauges(
  registry: Registry,
  prefix: string,
  read: () => Promise<StateSnapshot>,
  clock: Clock,
): StateGauges {
  const reading = createStateReading(read, clock)
  const gauges = new Map<StateMetric, Gauge>()
  for (const [key, { name, help, labels }] of Object.entries(stateMetrics)) {
    const labelNames = Object.keys(labels)
    gauges.set(
      key as StateMetric,
      new Gauge({ name: prefix + name, help, labelNames, registers: [registry] }),
    )
  }

  function set(sets: LabelSets, metric: StateMetric, labels: Labels, value: number | undefined): void {
    const definition: MetricDefinition = stateMetrics[metric]
    if (value === undefined || Number.isNaN(value) || !sets.allows(definition, labels)) return
    gauges.get(metric)!.set(labels, value)
  }

  /**
   * Lag is always present once it was known: while the store does not answer, nothing is committed, so lag grows in
   * real time and an alert on it continues.
   */
  function setRunning(snapshot: StateSnapshot, sets: LabelSets, ageSeconds: number): void {
    for (const route of snapshot.routes) {
      const labels = { zone: String(route.zone), sink: route.sink }
      set(sets, 'lag', labels, route.lagSeconds + ageSeconds)
      set(sets, 'timeToLoss', labels, route.timeToLossSeconds - ageSeconds)
    }
  }

  function setStanding(snapshot: StateSnapshot, sets: LabelSets): void {
    for (const route of snapshot.routes) {
      const labels = { zone: String(route.zone), sink: route.sink }
      set(sets, 'caughtUp', labels, route.caughtUpAtMs / 1000)
      set(sets, 'newestEvent', labels, route.newestMs === undefined ? undefined : route.newestMs / 1000)
      set(sets, 'gaps', labels, route.gaps)
    }
    for (const [state, count] of Object.entries(snapshot.streams)) set(sets, 'streams', { state }, count)
    for (const labels of sets.combinations(stateMetrics.deadLetters)) set(sets, 'deadLetters', labels, 0)
    for (const { sink, count } of snapshot.deadLetters) set(sets, 'deadLetters', { sink }, count)
    for (const labels of sets.combinations(stateMetrics.queueJobs)) set(sets, 'queueJobs', labels, 0)
    for (const { priority, state, jobs } of snapshot.queues)
      set(sets, 'queueJobs', { priority: priority, state }, jobs)
  }

  return {
    async refresh(sets) {
      const isUp = await reading.refresh()
      const latest = reading.latest()
      for (const gauge of gauges.values()) gauge.reset()
      set(sets, 'stateUp', {}, isUp ? 1 : 0)
      if (latest === undefined) return
      setRunning(latest.snapshot, sets, (clock.monotonic() - latest.atMs) / 1000)
      if (isUp) setStanding(latest.snapshot, sets)
    },
    outdate: () => reading.outdate(),
  }
}
