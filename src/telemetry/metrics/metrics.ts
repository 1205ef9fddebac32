import { setImmediate } from 'node:timers/promises'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { createTurns } from '../../domain/promises.ts'
import type { StateSnapshot } from '../../domain/plan/snapshot.ts'
import type { Zone } from '../../domain/stream.ts'
import type { Clock } from '../../ports/process.ts'
import { labelText } from './exposition.ts'
import { Histogram } from './histogram.ts'
import { createLabelSets } from './label-sets.ts'
import type { Known } from './label-sets.ts'
import { countedMetrics, measuredMetrics } from './metric-definitions.ts'
import type { Labels, MetricDefinition } from './metric-definition.ts'
import type { CountedMetric, MeasuredMetric } from './metric-definitions.ts'
import { Series } from './series.ts'
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
  /** The metrics in the text format, in parts of whole lines. Concurrent scrapes share one result. */
  text(): Promise<readonly string[]>
  readonly contentType: string
}

/** Gauges of the library with names that end like counters, which `promtool check metrics` refuses. */
const misnamedMetrics = ['resources', 'handles', 'requests'].map((what) => `nodejs_active_${what}_total`)

function createInstrument({ type, help, name, buckets = [] }: MetricDefinition): Series | Histogram {
  const head = { name: metricPrefix + name, help }
  return type === 'histogram' ? new Histogram({ ...head, bounds: buckets }) : new Series({ ...head, type })
}

/** An undeclared operation counts as `other`. */
function fallback(definition: MetricDefinition, labels: Labels): Labels {
  const operations = definition.labels['operation']
  const operation = labels['operation']
  if (!Array.isArray(operations) || operation === undefined || operations.includes(operation)) return labels
  return { ...labels, operation: 'other' }
}

export function createMetrics(options: { version: string; clock: Clock }): Metrics {
  const counters = new Map<CountedMetric, { definition: MetricDefinition; instrument: Series | Histogram }>()
  for (const [key, definition] of Object.entries(countedMetrics))
    counters.set(key as CountedMetric, { definition, instrument: createInstrument(definition) })

  const gauges = new Map<MeasuredMetric, Series>()
  for (const [key, { name, help, type }] of Object.entries(measuredMetrics))
    gauges.set(key as MeasuredMetric, new Series({ name: metricPrefix + name, help, type }))
  gauges.get('buildInfo')!.set(labelText({ version: options.version }), 1)

  /** Metrics of the process itself. */
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of misnamedMetrics) registry.removeSingleMetric(name)

  /** The series that each measured gauge has. */
  const measured = new Map<MeasuredMetric, Map<string, Labels>>(
    [...gauges.keys()].map((metric) => [metric, new Map()]),
  )

  let sets = createLabelSets({ zones: [], sinks: [], accounts: [] })
  let state: StateGauges | undefined
  let scrape: Promise<readonly string[]> | undefined

  for (const { definition, instrument } of counters.values())
    for (const labels of sets.combinations(definition)) instrument.startAtZero(labels)

  function measure(metric: MeasuredMetric, labels: Labels, value: number): void {
    const text = sets.textOf(measuredMetrics[metric], labels)
    if (!Number.isFinite(value) || text === undefined) return
    gauges.get(metric)!.set(text, value)
    measured.get(metric)!.set(text, labels)
  }

  function removeSeries(metric: MeasuredMetric, isGone: (labels: Labels) => boolean): void {
    for (const [text, labels] of measured.get(metric)!)
      if (isGone(labels)) {
        gauges.get(metric)!.remove(text)
        measured.get(metric)!.delete(text)
      }
  }

  function countEach(metric: CountedMetric, given: Labels, values: readonly number[]): void {
    const { definition, instrument } = counters.get(metric)!
    const labels = sets.textOf(definition, fallback(definition, given))
    if (labels === undefined) return
    const valid = values.filter((value) => Number.isFinite(value)).map((value) => Math.max(0, value))
    instrument.add(labels, valid)
  }

  async function expose(): Promise<readonly string[]> {
    const letTurn = createTurns({ clock: options.clock, turn: setImmediate })
    const parts = (await state?.text(sets, letTurn)) ?? []
    for (const { instrument } of counters.values()) parts.push(...(await instrument.text(letTurn)))
    for (const gauge of gauges.values()) parts.push(...(await gauge.text(letTurn)))
    parts.push(await registry.metrics())
    return parts
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
      for (const { definition, instrument } of counters.values()) {
        const labels = next.combinations(definition)
        for (const old of sets.combinations(definition)) if (!labels.has(old)) instrument.remove(old)
        for (const each of labels) instrument.startAtZero(each)
      }
      for (const metric of measured.keys())
        removeSeries(metric, (labels) => next.textOf(measuredMetrics[metric], labels) === undefined)
      const zoneInfo = gauges.get('zoneInfo')!
      zoneInfo.clear()
      for (const { id, name, account } of known.zones)
        zoneInfo.set(labelText({ zone: String(id), name, account }), 1)
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
