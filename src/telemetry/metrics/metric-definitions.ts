import { refusalReasons, skipReasons } from '../../domain/event/delivery.ts'
import { failureCodes } from '../../domain/failure.ts'
import { gapReasons } from '../../domain/gap.ts'
import { operations, requestOutcomes } from '../../domain/internal-event.ts'
import { guards } from '../../domain/scan/scan.ts'
import { queueStates } from '../../domain/status/observation.ts'
import { streamStates } from '../../domain/plan/stream-state.ts'

/**
 * Allowed values of a label: a closed set, or names of the configuration. `any` is for names that
 * the configuration or the API gives, which are bounded in length and number where they are read.
 */
export type LabelSet = 'zones' | 'sinks' | 'accounts' | 'scannedZones' | 'apps' | 'any' | readonly string[]

/** By its name without the prefix. One that ends with `_total` is a counter, one with buckets a histogram, else a gauge. */
export interface MetricDefinition {
  readonly labels: Readonly<Record<string, LabelSet>>
  readonly help: string
  /** Upper bounds in seconds, ascending. A histogram has no zone label: the limit is 25 series per zone and sink. */
  readonly buckets?: readonly number[]
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
export const countedMetrics = {
  events_fetched_total: {
    labels: zone,
    help: 'Events on pages read from the API, re-reads included, once for each sink.',
  },
  events_delivered_total: {
    labels: route,
    help: 'Events that the sink accepted, counted at the commit.',
  },
  events_duplicate_total: {
    labels: route,
    help: 'Events not delivered again because the stream had delivered them before. Re-reads cause them; they are not errors.',
  },
  events_filtered_total: {
    labels: route,
    help: 'Events that `where` and `sample` of the sink leave out; the ledger records them.',
  },
  events_late_total: {
    labels: route,
    help: 'Delivered events that the API listed later than poll.overlapMinutes; the lag does not include them.',
  },
  events_dead_lettered_total: {
    labels: { ...sink, reason: refusalReasons },
    help: 'Events that the sink will never accept, kept as dead letters.',
  },
  events_skipped_total: {
    labels: { ...route, reason: skipReasons },
    help: 'Events that the destination takes no more, since they are too old. The ledger records them; they are no dead letters.',
  },
  events_lost_total: {
    labels: sink,
    help: 'Events of acknowledged bodies that the destination said it dropped, without saying which.',
  },
  pages_fetched_total: {
    labels: route,
    help: 'Pages read from the API.',
  },
  api_requests_total: {
    labels: { ...account, operation: operations, outcome: requestOutcomes },
    help: 'Requests to the API by outcome; each try counts.',
  },
  api_request_duration_seconds: {
    labels: { operation: operations },
    buckets: requestBuckets,
    help: 'Time from sending a request to the API until its answer was read.',
  },
  api_throttled_total: {
    labels: account,
    help: 'Answers of the API that asked for a pause (429).',
  },
  gaps_recorded_total: {
    labels: { ...route, reason: gapReasons },
    help: 'Gaps recorded by this process: events that the API no longer lists. Any increase is a loss.',
  },
  event_delay_seconds: {
    labels: { ...sink, ...priority },
    buckets: delayBuckets,
    help: 'Time from the event to its delivery; event times in the future count as 0.',
  },
  sink_requests_total: {
    labels: { ...sink, outcome: requestOutcomes },
    help: 'Requests or writes to the sink by outcome; each try counts.',
  },
  sink_request_duration_seconds: {
    labels: sink,
    buckets: requestBuckets,
    help: 'Time until the sink answered a request or finished a write.',
  },
  sink_bytes_total: {
    labels: sink,
    help: 'Bytes that the sink accepted.',
  },
  checkpoint_commit_duration_seconds: {
    labels: {},
    buckets: commitBuckets,
    help: 'Time that the store needed for a commit.',
  },
  scans_guarded_total: {
    labels: { guard: guards },
    help: 'Scans that shieldlog stopped because the listing did not end.',
  },
  stream_failures_total: {
    labels: { ...sink, code: failureCodes },
    help: 'Failed pumps of streams of the sink, by code.',
  },
  part_repairs_total: {
    labels: { ...sink, repair: ['cut', 'short', 'replaced'] },
    help: 'Parts cut back to their committed length, found shorter than it, or replaced by a new part.',
  },
  tick_failures_total: {
    labels: {},
    help: 'Failed attempts of the scheduler to read which streams are due.',
  },
  config_reloads_total: {
    labels: { result: ['taken', 'refused'] },
    help: 'Configurations read again on SIGHUP, taken or refused.',
  },
} as const satisfies Record<string, MetricDefinition>

/** Set when a value is measured; absent before. */
export const measuredMetrics = {
  clock_skew_seconds: {
    labels: account,
    help: "The API's clock minus this host's clock at the latest answer.",
  },
  zone_info: {
    labels: { ...zone, name: 'any', ...account },
    help: 'Always 1, for each configured zone; its labels join the name and account to metrics with the zone id.',
  },
  upload_scanning_files_scanned: {
    labels: scannedZone,
    help: 'Files that upload scanning looked at in the past 28 days. Keeps the last value while the API fails.',
  },
  upload_scanning_requests: {
    labels: { ...scannedZone, result: ['logged', 'blocked'] },
    help: 'Requests that upload scanning logged or blocked in the past 28 days.',
  },
  upload_scanning_read_timestamp_seconds: {
    labels: scannedZone,
    help: 'When the upload scanning figures of the zone were last read; time() minus this is their age.',
  },
  volume_size_bytes: {
    labels: volume,
    help: 'Size of the volume in that region, all its instances together. Keeps the last value while the API fails.',
  },
  volume_usage_bytes: {
    labels: volume,
    help: 'Used bytes of the volume in that region, all its instances together.',
  },
  volume_fullest_ratio: {
    labels: volume,
    help: 'Used share of the fullest instance of the volume in that region: 1 is full.',
  },
  volumes_read_timestamp_seconds: {
    labels: app,
    help: 'When the volumes of the application were last read; time() minus this is the age of their figures.',
  },
  build_info: {
    labels: { version: 'any' },
    help: 'Always 1; the label is the version.',
  },
} as const satisfies Record<string, MetricDefinition>

/** Read from the store at scrape time. */
export const stateMetrics = {
  zone_lag_seconds: {
    labels: route,
    help: 'Seconds since the time up to which all listed events were delivered. Grows while anything fails, also while the store does not answer.',
  },
  zone_caught_up_timestamp_seconds: {
    labels: route,
    help: 'The time up to which all listed events were delivered; time() minus this is the lag.',
  },
  zone_newest_event_timestamp_seconds: {
    labels: route,
    help: 'Time of the newest delivered event; absent until there is one. It is old on a quiet zone, so it does not measure lag.',
  },
  time_to_loss_seconds: {
    labels: route,
    help: 'Time until the oldest unfinished day becomes unreadable, the one deadline that `status` and the page show too; +Inf where none is unfinished. Decreases also while the store does not answer.',
  },
  streams: {
    labels: { state: streamStates },
    help: 'Streams (one zone, one day, one sink) by state.',
  },
  gaps: {
    labels: route,
    help: 'Gaps that nobody has acknowledged: events that the API no longer lists. Also of routes that left the configuration. `gaps acknowledge` sets it to 0.',
  },
  dead_letters: {
    labels: sink,
    help: 'Events that the sink refused and that wait to be replayed or dropped.',
  },
  queue_jobs: {
    labels: { ...sink, ...priority, state: queueStates },
    help: 'Streams in the schedule by sink, priority and state. waiting: due and not begun; active: in work; delayed: waiting after a failure.',
  },
  state_up: {
    labels: {},
    help: '1 when the store answered at this scrape, else 0; at 0 the gauges that are read from the store are absent.',
  },
} as const satisfies Record<string, MetricDefinition>

export type CountedMetric = keyof typeof countedMetrics
export type MeasuredMetric = keyof typeof measuredMetrics
export type StateMetric = keyof typeof stateMetrics

export const metricPrefix = 'shieldlog_'

/** Every metric of shieldlog itself, in the order of the reference. */
export const metricDefinitions = Object.entries<MetricDefinition>({
  ...countedMetrics,
  ...stateMetrics,
  ...measuredMetrics,
}).map(([name, definition]) => ({ name, type: typeOf(name, definition), ...definition }))

function typeOf(name: string, { buckets }: MetricDefinition): 'counter' | 'gauge' | 'histogram' {
  if (name.endsWith('_total')) return 'counter'
  return buckets === undefined ? 'gauge' : 'histogram'
}
