import { setImmediate } from 'node:timers/promises'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { createTurns, keepLatest, within } from '../../domain/promises.ts'
import { queueStates, type Observation } from '../../domain/observation.ts'
import { isOpenGap, gapReasons, type Zone, type ZoneAndSink } from '../../domain/stream.ts'
import type { Clock } from '../../ports/process.ts'
import { refusalReasons, skipReasons } from '../../domain/event/delivery.ts'
import { unexpectedKinds } from '../../domain/event/unexpected.ts'
import { failureCodes } from '../../domain/failure.ts'
import { operations, requestOutcomes } from '../../domain/internal-event.ts'
import { guards } from '../../domain/scan/scan.ts'
import { streamStates } from '../../domain/plan/stream-state.ts'
import { paceOf } from '../../domain/policy.ts'

/** Names and values; those that the metric does not have are ignored where a definition gives the names. */
export type Labels = Readonly<Record<string, string | number | undefined>>

export interface Measured {
  readonly labels: Labels
  readonly value: number
}

/** The names in the configuration, the only values of these labels: of `zone` for which upload scanning is read, too. */
export interface Known extends Partial<Record<Exclude<NameSet, 'zones'>, readonly (string | number)[]>> {
  readonly zones: readonly Zone[]
}

/** What is read at a scrape, which waits for each 4 s at most. */
interface Sources {
  /** Measures what changes by itself. */
  readonly measure?: () => Promise<void>
  /** For the gauges of shared state: one route per configured zone and sink. */
  readonly observe?: () => Promise<Observation>
}

export type Metrics = ReturnType<typeof createMetrics>

/**
 * Metrics of the library that are not shown: names that end like counters, which `promtool check metrics` refuses, and
 * what it measures of the event loop by a timer: each value contains the interval of that timer.
 */
const removedMetrics = [
  ...['resources', 'handles', 'requests'].map((what) => `nodejs_active_${what}_total`),
  ...['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map(
    (what) => `nodejs_eventloop_lag_${what}_seconds`,
  ),
]
/** The longest that a timer takes. By default it fires a hundred times a second: two thirds of what an idle process cost. */
const neverMs = 2 ** 31 - 1

const freshMs = 3000
/** Below the usual scrape timeout of 10 s. */
const patienceMs = 4000

/**
 * The text format is written here, and the library has only the metrics of the process: it takes twenty times as long
 * for the 170,000 series of 5,000 zones with two sinks, and holds the event loop meanwhile.
 */
export function createMetrics({ version, clock }: { version: string; clock: Clock }) {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: neverMs })
  for (const name of removedMetrics) registry.removeSingleMetric(name)

  const counted = new Map<CountedMetric, Counted>()
  const measured = new Map<MeasuredMetric, readonly (Measured & { readonly series: Series })[]>()
  let zones = new Map<number, Zone>()
  let names = namesOf(nothing)
  let sources: Sources = {}
  let latest: { readonly observed: Observation; readonly atMs: number } | undefined

  /** Adds to a counter, or observes values (seconds) in a histogram. Ignores unknown zones, sinks and accounts. */
  function count(metric: CountedMetric, given: Labels, value: number | readonly number[] = 1): void {
    const own = counted.get(metric)!
    const { labelNames, buckets, series } = own
    for (const [key, addend] of additions(labelText(given, labelNames), buckets, value)) {
      const before = series.get(key)
      if (before === undefined || addend === 0) continue
      series.set(key, before + addend)
      own.text = undefined
    }
  }

  /** Sets the series of a gauge that have all of these labels; those that are not given any more are removed. */
  function measure(metric: MeasuredMetric, of: Labels, rows: readonly Measured[]): void {
    const isOther = ({ labels }: Measured) =>
      Object.entries(of).some(([name, value]) => labels[name] !== value)
    const own = rows
      .filter((row) => isAllowed(metric, row))
      .map(({ labels, value }) => ({ labels, value, series: [labelText(labels), value] as const }))
    measured.set(metric, [...(measured.get(metric) ?? []).filter(isOther), ...own])
  }

  function isAllowed(metric: MeasuredMetric, { labels, value }: Measured): boolean {
    const isKnown = ([label, set]: [string, LabelSet]) => {
      const name = String(labels[label])
      return typeof set === 'string' ? set === 'any' || names[set]?.has(name) === true : set.includes(name)
    }
    return Number.isFinite(value) && Object.entries<LabelSet>(measuredMetrics[metric][0]).every(isKnown)
  }

  /** Before the first scrape and at each reload: counters of new names begin at 0, series of old names go. */
  function prepare(named: Known): void {
    names = namesOf(named)
    zones = new Map(named.zones.map((zone) => [zone.id, zone]))
    const combinations = combinationsOf(names)
    for (const { name, labels, buckets } of metricDefinitions) {
      if (!Object.hasOwn(countedMetrics, name)) continue
      const metric = name as CountedMetric
      const before = counted.get(metric)?.series
      const keys = combinations(labels).flatMap((text) => additions(text, buckets, 0).map(([key]) => key))
      const series = new Map(keys.map((key) => [key, before?.get(key) ?? 0]))
      counted.set(metric, { labelNames: Object.keys(labels), buckets, series, text: undefined })
    }
    for (const [metric, rows] of measured) measure(metric, {}, rows)
    const infos = named.zones.map(({ id, name, account }) => ({ zone: String(id), name, account }))
    const rows = infos.map((labels) => ({ labels, value: 1 }))
    measure('zone_info', {}, rows)
  }

  const measuring = keepLatest(async () => sources.measure?.(), freshMs, clock)
  const observing = keepLatest(
    async () => {
      const observed = await sources.observe!()
      latest = { observed, atMs: clock.monotonic() }
    },
    freshMs,
    clock,
  )

  /** Lag is always present once it was known, the rest only while the store answers. */
  async function stateSeries(): Promise<StateSeries> {
    if (sources.observe === undefined) return {}
    const isUp = (await within(patienceMs, observing.read(), clock).catch(() => 'late')) !== 'late'
    const up = { state_up: [['', Number(isUp)]] } as const
    if (latest === undefined) return up
    const { observed, atMs } = latest
    const routes = observed.routes
      .filter(
        ({ summary: { zone, sink } }) =>
          names.zones?.has(String(zone)) === true && names.sinks?.has(sink) === true,
      )
      .map((route) => ({ ...route, labels: routeLabels(route.summary) }))
    const lasting = lastingSeries(observed, routes, (clock.monotonic() - atMs) / 1000)
    return { ...up, ...lasting, ...(isUp && presentSeries(observed, routes)) }
  }

  async function expose(): Promise<readonly string[]> {
    const letTurn = createTurns({ clock, turn: setImmediate })
    const measuredNow = within(patienceMs, measuring.read(), clock).catch(() => undefined)
    const [ofState] = await Promise.all([stateSeries(), measuredNow])
    const parts: string[] = []
    for (const definition of metricDefinitions) {
      const own = counted.get(definition.name as CountedMetric)
      if (own !== undefined) own.text ??= metricText(definition, own.series, letTurn)
      const rows = measured.get(definition.name as MeasuredMetric) ?? []
      const gauge = ofState[definition.name as StateMetric] ?? rows.map(({ series }) => series)
      parts.push(...(await (own?.text ?? metricText(definition, gauge, letTurn))))
    }
    return [...parts, await registry.metrics()]
  }

  prepare(nothing)
  measure('build_info', {}, [{ labels: { version }, value: 1 }])
  return {
    contentType: registry.contentType,
    count,
    measure,
    prepare,
    zone: (id: number): Zone | undefined => zones.get(id),
    readAtScrape: (given: Sources) => void (sources = given),
    /** The metrics in the text format, in parts of whole lines. Concurrent scrapes share one result. */
    text: keepLatest(expose, 0, clock).read,
  }
}

/** A counter or histogram. */
interface Counted {
  readonly labelNames: readonly string[]
  readonly buckets: readonly number[] | undefined
  readonly series: Map<string, number>
  /** Until it changes: most counters of a large fleet do not, from one scrape to the next. */
  text: Promise<readonly string[]> | undefined
}

const nothing: Known = { zones: [] }

type NameSet = Exclude<LabelSet, 'any' | readonly string[]>
type Names = Readonly<Partial<Record<NameSet, ReadonlySet<string>>>>

function namesOf({ zones, ...others }: Known): Names {
  const lists = { ...others, zones: zones.map(({ id }) => id) }
  return Object.fromEntries(Object.entries(lists).map(([name, all]) => [name, new Set(all.map(String))]))
}

/** Metrics with the same labels share the texts: with thousands of zones they take more memory than the values. */
function combinationsOf(names: Names): (labels: MetricDefinition['labels']) => readonly string[] {
  const made = new Map<string, readonly string[]>()
  return (labels) => {
    const key = JSON.stringify(labels)
    const before = made.get(key)
    if (before !== undefined) return before
    let all: Labels[] = [{}]
    for (const [label, set] of Object.entries(labels)) {
      const values = typeof set !== 'string' ? set : set === 'any' ? [] : [...(names[set] ?? [])]
      all = all.flatMap((one) => values.map((value) => ({ ...one, [label]: value })))
    }
    const texts = all.map((one) => labelText(one))
    made.set(key, texts)
    return texts
  }
}

/** What values add to the series of one combination of labels: of a histogram to its buckets, sum and count. */
function additions(
  labels: string,
  buckets: readonly number[] | undefined,
  given: number | readonly number[],
): Series[] {
  const values = [given]
    .flat()
    .filter(Number.isFinite)
    .map((value) => Math.max(0, value))
  const sum = values.reduce((left, right) => left + right, 0)
  if (buckets === undefined) return [[labels, sum]]
  const bucket = (bound: number | string, count: number): Series => [
    labels === '' ? `_bucket{le="${bound}"}` : `_bucket{le="${bound}",${labels.slice(1)}`,
    count,
  ]
  return [
    ...buckets.map((bound) => bucket(bound, values.filter((value) => value <= bound).length)),
    bucket('+Inf', values.length),
    [`_sum${labels}`, sum],
    [`_count${labels}`, values.length],
  ]
}

/** A suffix of the metric's name with the labels as text, and the value. */
type Series = readonly [series: string, value: number]

/** Lines that are written before the event loop may turn. */
const linesAtOnce = 500

/** One metric in parts of whole lines. Its help is one line without a backslash. */
async function metricText(
  { name, type, help }: MetricDefinition,
  series: Iterable<Series>,
  letTurn: () => Promise<void>,
): Promise<string[]> {
  const full = metricPrefix + name
  const parts = [`# HELP ${full} ${help}\n# TYPE ${full} ${type}\n`]
  let lines: string[] = []
  for (const [labels, value] of series) {
    lines.push(`${full}${labels} ${value === Infinity ? '+Inf' : value}\n`)
    if (lines.length < linesAtOnce) continue
    parts.push(lines.join(''))
    lines = []
    await letTurn()
  }
  return [...parts, lines.join('')]
}

/** Such as `{zone="101",sink="siem"}`; empty without labels. `names`: in the order of the metric's definition. */
function labelText(labels: Labels, names: readonly string[] = Object.keys(labels)): string {
  const pairs = names.map((name) => `${name}="${escapedValue(String(labels[name] ?? ''))}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escapedValue(value: string): string {
  if (!/["\\\n]/.test(value)) return value
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}

/** A metric that is absent has no series now. */
type StateSeries = Readonly<Partial<Record<StateMetric, Iterable<Series>>>>

type LabelledRoute = Observation['routes'][number] & { readonly labels: string }

function routeLabels({ zone, sink }: ZoneAndSink): string {
  return labelText({ zone, sink })
}

/** While the store does not answer, nothing is committed: lag grows in real time, and an alert on it continues. */
function lastingSeries(
  { settings }: Observation,
  routes: readonly LabelledRoute[],
  ageSeconds: number,
): StateSeries {
  return {
    zone_lag_seconds: routes.map(({ labels, time, caughtUpAtMs }) => [
      labels,
      (time.nowMs - caughtUpAtMs) / 1000 + ageSeconds,
    ]),
    time_to_loss_seconds: routes.map(({ labels, summary: { timeToLossSeconds = Infinity } }) => [
      labels,
      timeToLossSeconds - ageSeconds,
    ]),
    sink_pace_seconds: settings.sinks.map((sink) => [
      labelText({ sink }),
      paceOf(settings.policy, { sink }) / 1000,
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
function sums(labelled: readonly string[], counts: readonly Series[]): ReadonlyMap<string, number> {
  const all = new Map(labelled.map((labels) => [labels, 0]))
  for (const [labels, count] of counts) all.set(labels, (all.get(labels) ?? 0) + count)
  return all
}

/**
 * Allowed values of a label: a closed set, or names of the configuration. `any` is for names that
 * the configuration or the API gives, which are bounded in length and number where they are read.
 */
type LabelSet =
  'zones' | 'sinks' | 'accounts' | 'scannedZones' | 'apps' | 'places' | 'any' | readonly string[]

type MetricLabels = Readonly<Record<string, LabelSet>>

/** What tables hold of a metric, by its name without the prefix: labels, help and, of a histogram, buckets. */
type MetricRow = readonly [labels: MetricLabels, help: string, buckets?: readonly number[]]

/** One that ends with `_total` is a counter, one with buckets a histogram, else a gauge. */
export interface MetricDefinition {
  /** Without the prefix. */
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: MetricLabels
  readonly help: string
  /** Upper bounds in seconds, ascending. A histogram has no zone label: the limit is 25 series per zone and sink. */
  readonly buckets: readonly number[] | undefined
}

const requestBuckets = [0.005, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const commitBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]
const delayBuckets = [1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 21_600, 86_400]

const priority = { priority: ['live', 'backfill'] } as const
const zone = { zone: 'zones' } as const
const sink = { sink: 'sinks' } as const
const account = { account: 'accounts' } as const
const route = { ...zone, ...sink } as const
const scannedZone = { zone: 'scannedZones' } as const
const app = { app: 'apps' } as const
const volume = { ...app, volume: 'any', region: 'any' } as const

/** Counted by the internal events of this process. Each series starts at 0. */
const countedMetrics = {
  notifications_total: [{ name: 'places', outcome: requestOutcomes }, 'Messages to places of `notify`.'],
  events_fetched_total: [zone, 'Events on pages read from the API, re-reads included, once for each sink.'],
  events_delivered_total: [route, 'Events that the sink accepted, counted at the commit.'],
  events_duplicate_total: [route, 'Events not delivered again. Re-reads cause them; they are no errors.'],
  events_filtered_total: [
    route,
    'Events that `where` and `sample` of the sink leave out; the ledger records them.',
  ],
  events_late_total: [
    route,
    'Delivered events that the API listed later than poll.overlapMinutes; the lag does not include them.',
  ],
  events_dead_lettered_total: [
    { ...sink, reason: refusalReasons },
    'Events that the sink will never accept, kept as dead letters.',
  ],
  events_skipped_total: [
    { ...route, reason: skipReasons },
    'Events that the destination takes no more, since they are too old. The ledger records them; they are no dead letters.',
  ],
  entries_unexpected_total: [
    { ...zone, kind: unexpectedKinds },
    'New entries that are not as shieldlog knows them, once for each sink: an unknown member, labels of another shape, no time, a page whose logs have no known name. They are shipped.',
  ],
  events_lost_total: [
    sink,
    'Events of acknowledged bodies that the destination said it dropped, without saying which.',
  ],
  sink_objects_total: [sink, 'Objects written into a bucket.'],
  sink_objects_adopted_total: [
    sink,
    'Objects that an earlier try had written and not committed; their events count as delivered. Normal after a crash or a lost answer.',
  ],
  pages_fetched_total: [route, 'Pages read from the API.'],
  api_requests_total: [
    { ...account, operation: operations, outcome: requestOutcomes },
    'Requests to the API by outcome; each try counts.',
  ],
  api_request_duration_seconds: [
    { operation: operations },
    'Time from sending a request to the API until its answer was read.',
    requestBuckets,
  ],
  api_throttled_total: [account, 'Answers of the API that asked for a pause (429).'],
  gaps_recorded_total: [
    { ...route, reason: gapReasons },
    'Gaps recorded by this process: events that the API no longer lists. Any increase is a loss.',
  ],
  event_delay_seconds: [
    { ...sink, ...priority },
    'Time from the event to its delivery; event times in the future count as 0.',
    delayBuckets,
  ],
  sink_requests_total: [
    { ...sink, outcome: requestOutcomes },
    'Requests or writes to the sink by outcome; each try counts.',
  ],
  sink_request_duration_seconds: [sink, 'Time that a request or write took.', requestBuckets],
  sink_removals_total: [sink, 'Days of zones whose files `retention` of a file sink removed.'],
  sink_bytes_total: [sink, 'Bytes that the sink accepted.'],
  checkpoint_commit_duration_seconds: [{}, 'Time that the state needed for a commit.', commitBuckets],
  scans_guarded_total: [
    { guard: guards },
    'Scans that do not count, because the listing did not end or was shorter than before.',
  ],
  stream_failures_total: [{ ...sink, code: failureCodes }, 'Failed pumps of streams of the sink, by code.'],
  part_repairs_total: [
    { ...sink, repair: ['cut', 'short', 'replaced'] },
    'Parts cut back to their committed length, found shorter than it, or replaced by a new part.',
  ],
  tick_failures_total: [{}, 'Failed attempts of the scheduler to read which streams are due.'],
  config_reloads_total: [{ result: ['taken', 'refused'] }, 'Configurations read again on SIGHUP.'],
} as const satisfies Record<string, MetricRow>

/** Set when a value is measured; absent before. */
const measuredMetrics = {
  clock_skew_seconds: [account, "The API's clock minus this host's clock at the latest answer."],
  zone_info: [
    { ...zone, name: 'any', ...account },
    'Always 1, for each configured zone; its labels join the name and account to metrics with the zone id.',
  ],
  upload_scanning_files_scanned: [
    scannedZone,
    'Files that upload scanning looked at in the past 28 days. Keeps the last value while the API fails.',
  ],
  upload_scanning_requests: [
    { ...scannedZone, result: ['logged', 'blocked'] },
    'Requests that upload scanning logged or blocked in the past 28 days.',
  ],
  upload_scanning_read_timestamp_seconds: [
    scannedZone,
    'When the upload scanning figures of the zone were last read; time() minus this is their age. 0 while every try failed.',
  ],
  volume_size_bytes: [
    volume,
    'Size of the volume in that region, all its instances together. Keeps the last value while the API fails.',
  ],
  volume_usage_bytes: [volume, 'Used bytes of the volume in that region, all its instances together.'],
  volume_fullest_ratio: [
    volume,
    'Used share of the fullest instance of the volume in that region: 1 is full.',
  ],
  volumes_read_timestamp_seconds: [
    app,
    'When the volumes of the application were last read; time() minus this is the age of their figures. 0 while every try failed.',
  ],
  sink_free_bytes: [
    sink,
    "Free bytes on the disk of the file sink's path, read at scrape time; 0 where no inodes are left. Absent before the path exists.",
  ],
  sink_size_bytes: [sink, "Size of the disk of the file sink's path, in bytes."],
  state_free_bytes: [
    {},
    'Free bytes on the disk of an embedded state, read at scrape time; 0 where no inodes are left. Absent with Redis.',
  ],
  state_writable: [
    {},
    '1 while this process can write to its state, else 0: a state that is full can still be read.',
  ],
  state_failed_write_timestamp_seconds: [
    {},
    'When this process last failed to write to its state; absent until then.',
  ],
  build_info: [{ version: 'any' }, 'Always 1; the label is the version.'],
} as const satisfies Record<string, MetricRow>

/** Read from the store at scrape time. */
export const stateMetrics = {
  zone_lag_seconds: [
    route,
    'Seconds since the time up to which all listed events were delivered. Grows while anything fails, also while the state does not answer.',
  ],
  zone_caught_up_timestamp_seconds: [
    route,
    'The time up to which all listed events were delivered; time() minus this is the lag.',
  ],
  zone_newest_event_timestamp_seconds: [
    route,
    'Time of the newest delivered event; absent until there is one. It is old on a quiet zone, so it does not measure lag.',
  ],
  time_to_loss_seconds: [
    route,
    'Time until the oldest unfinished day becomes unreadable, the one deadline that `status` and the page show too; +Inf where none is unfinished. Decreases also while the state does not answer.',
  ],
  sink_pace_seconds: [
    sink,
    'Time between two polls of a stream: `everySeconds` of the sink or of `poll`. The lag grows to it between two polls.',
  ],
  streams: [{ state: streamStates }, 'Streams (one zone, one day, one sink) by state.'],
  gaps: [
    route,
    'Gaps that nobody has acknowledged: events that the API no longer lists. Also of routes that left the configuration. `gaps acknowledge` sets it to 0.',
  ],
  dead_letters: [sink, 'Events that the sink refused and that wait to be replayed or dropped.'],
  queue_jobs: [
    { ...sink, ...priority, state: queueStates },
    'Streams in the schedule by sink, priority and state. waiting: due and not begun; active: in work; delayed: waiting after a failure.',
  ],
  state_up: [
    {},
    '1 when the state answered at this scrape, else 0; at 0 the gauges that are read from the state are absent.',
  ],
} as const satisfies Record<string, MetricRow>

export type CountedMetric = keyof typeof countedMetrics
type MeasuredMetric = keyof typeof measuredMetrics
type StateMetric = keyof typeof stateMetrics

export const metricPrefix = 'shieldlog_'

/** Every metric of shieldlog itself, in the order of the reference. */
export const metricDefinitions = Object.entries<MetricRow>({
  ...countedMetrics,
  ...stateMetrics,
  ...measuredMetrics,
}).map(([name, [labels, help, buckets]]): MetricDefinition => {
  const other = buckets === undefined ? 'gauge' : 'histogram'
  return { name, type: name.endsWith('_total') ? 'counter' : other, labels, help, buckets }
})
