import { setImmediate } from 'node:timers/promises'
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client'
import { createTurns } from '../../domain/let-loop-turn.ts'
import type { StateSnapshot } from '../../domain/plan/snapshot.ts'
import type { Zone } from '../../domain/stream.ts'
import type { Clock } from '../../ports/clock.ts'
import { registryTexts, WrittenTexts } from './exposition.ts'
import { Histogram } from './histogram.ts'
import { createLabelSets } from './label-sets.ts'
import type { Known, Labels, LabelSets } from './label-sets.ts'
import { countedMetrics, measuredMetrics } from './metric-definitions.ts'
import type { MetricDefinition } from './metric-definition.ts'
import type { CountedMetric, MeasuredMetric } from './metric-definitions.ts'
import { createStateGauges } from './state-gauges.ts'
import type { StateGauges } from './state-gauges.ts'

export const metricPrefix = 'shieldlog_'

/** The metrics that definitions of internal events may change. */
export interface Counting {
  /** Adds to a counter, or observes a value (seconds) in a histogram. Ignores unknown zones, sinks and accounts. */
  count(metric: CountedMetric, labels: Labels, value?: number): void
  /** The same for many values. */
  countEach(metric: CountedMetric, labels: Labels, values: readonly number[]): void
  measure(metric: MeasuredMetric, labels: Labels, value: number): void
  /** Sets the series of a gauge that have all of these labels; those that are not given any more are removed. */
  replace(metric: MeasuredMetric, of: Labels, rows: readonly { labels: Labels; value: number }[]): void
}

export interface Metrics extends Counting {
  /**
   * Call it before the first scrape and at each reload: creates every counter of the configured names with 0, and
   * removes the series of names that left the configuration.
   */
  prepare(known: Known): void
  /** The configured zone of that id. */
  zone(id: number): Zone | undefined
  isKnown(set: 'sinks' | 'accounts', name: string): boolean
  /** Sets the source of the gauges of shared state: one route per configured zone and sink. Read at scrape time. */
  readState(read: () => Promise<StateSnapshot>): void
  /** The metrics in the text format. Concurrent scrapes share one result. */
  text(): Promise<string>
  readonly contentType: string
}

/** Gauges of the library with names that end like counters, which `promtool check metrics` refuses. */
const misnamedMetrics = ['resources', 'handles', 'requests'].map((what) => `nodejs_active_${what}_total`)

type Instrument = Counter | Histogram

function createInstrument(definition: MetricDefinition, registry: Registry): Instrument {
  const { help, labels, buckets = [] } = definition
  const name = metricPrefix + definition.name
  if (definition.type === 'histogram') return new Histogram(name, help, buckets).register(registry)
  return new Counter({ name, help, labelNames: Object.keys(labels), registers: [registry] })
}

function startAtZero(instrument: Instrument, labels: Labels): void {
  if (instrument instanceof Counter) instrument.inc(labels, 0)
  else instrument.startAtZero(labels)
}

function add(instrument: Instrument, labels: Labels, values: readonly number[]): void {
  if (instrument instanceof Histogram) instrument.observe(labels, values)
  else for (const value of values) instrument.inc(labels, value)
}

/** An undeclared operation counts as `other`. */
function fallback(definition: MetricDefinition, labels: Labels): Labels {
  const operations = definition.labels['operation']
  const operation = labels['operation']
  if (!Array.isArray(operations) || operation === undefined || operations.includes(operation)) return labels
  return { ...labels, operation: 'other' }
}

export function createMetrics(options: { version: string; clock: Clock }): Metrics {
  const registry = new Registry()
  const instruments = new Map<CountedMetric, { definition: MetricDefinition; instrument: Instrument }>()
  for (const [key, definition] of Object.entries(countedMetrics))
    instruments.set(key as CountedMetric, { definition, instrument: createInstrument(definition, registry) })

  const gauges = new Map<MeasuredMetric, Gauge>()
  for (const [key, definition] of Object.entries(measuredMetrics)) {
    const { name, help } = definition
    const labelNames = Object.keys(definition.labels)
    const gauge = new Gauge({ name: metricPrefix + name, help, labelNames, registers: [registry] })
    gauges.set(key as MeasuredMetric, gauge)
  }
  gauges.get('buildInfo')!.set({ version: options.version }, 1)
  collectDefaultMetrics({ register: registry })
  for (const name of misnamedMetrics) registry.removeSingleMetric(name)

  /** The series that each measured gauge has. */
  const series = new Map<MeasuredMetric, Map<string, Labels>>(
    [...gauges.keys()].map((metric) => [metric, new Map()]),
  )

  const written = new WrittenTexts(
    new Set(Object.values(countedMetrics).map(({ name }) => metricPrefix + name)),
  )
  let sets = createLabelSets({ zones: [], sinks: [], accounts: [] })
  let state: StateGauges | undefined
  let scrape: Promise<string> | undefined

  for (const { definition, instrument } of instruments.values())
    for (const labels of sets.combinations(definition)) startAtZero(instrument, labels)

  /** Starts new series at 0 and removes obsolete ones; the others keep their values. */
  function refit(definition: MetricDefinition, instrument: Instrument, next: LabelSets): void {
    written.changed(metricPrefix + definition.name)
    for (const labels of sets.combinations(definition))
      if (!next.allows(definition, labels)) instrument.remove(labels)
    for (const labels of next.combinations(definition))
      if (!sets.allows(definition, labels)) startAtZero(instrument, labels)
  }

  function measure(metric: MeasuredMetric, labels: Labels, value: number): void {
    if (!Number.isFinite(value) || !sets.allows(measuredMetrics[metric], labels)) return
    gauges.get(metric)!.set(labels, value)
    series.get(metric)!.set(JSON.stringify(labels), labels)
  }

  function removeSeries(metric: MeasuredMetric, isGone: (labels: Labels) => boolean): void {
    for (const [key, labels] of series.get(metric)!)
      if (isGone(labels)) {
        gauges.get(metric)!.remove(labels)
        series.get(metric)!.delete(key)
      }
  }

  function countEach(metric: CountedMetric, given: Labels, values: readonly number[]): void {
    const { definition, instrument } = instruments.get(metric)!
    const labels = fallback(definition, given)
    if (!sets.allows(definition, labels)) return
    written.changed(metricPrefix + definition.name)
    add(
      instrument,
      labels,
      values.filter((value) => Number.isFinite(value)).map((value) => Math.max(0, value)),
    )
  }

  async function expose(): Promise<string> {
    const letTurn = createTurns({ clock: options.clock, turn: setImmediate })
    const texts = (await state?.texts(sets, letTurn)) ?? []
    return `${[...(await registryTexts(registry, written, letTurn)), ...texts].join('\n\n')}\n`
  }

  return {
    contentType: registry.contentType,
    count: (metric, labels, value = 1) => countEach(metric, labels, [value]),
    countEach,
    measure,
    replace(metric, of, rows) {
      removeSeries(metric, (labels) => Object.entries(of).every(([name, value]) => labels[name] === value))
      for (const { labels, value } of rows) measure(metric, labels, value)
    },
    prepare(known) {
      const next = createLabelSets(known)
      for (const { definition, instrument } of instruments.values()) refit(definition, instrument, next)
      for (const metric of series.keys())
        removeSeries(metric, (labels) => !next.allows(measuredMetrics[metric], labels))
      const zoneInfo = gauges.get('zoneInfo')!
      zoneInfo.reset()
      for (const { id, name, account } of known.zones) zoneInfo.set({ zone: String(id), name, account }, 1)
      sets = next
      state?.outdate()
    },
    zone: (id) => sets.zone(id),
    isKnown: (set, name) => sets.has(set, name),
    readState(read) {
      if (state !== undefined) throw new Error('the state of the streams is read from one place only')
      state = createStateGauges(metricPrefix, read, options.clock)
    },
    text() {
      scrape ??= expose().finally(() => {
        scrape = undefined
      })
      return scrape
    },
  }
}
