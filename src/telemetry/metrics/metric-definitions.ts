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
export type LabelSet =
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
export const countedMetrics = {
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
  checkpoint_commit_duration_seconds: [{}, 'Time that the store needed for a commit.', commitBuckets],
  scans_guarded_total: [{ guard: guards }, 'Scans that shieldlog stopped because the listing did not end.'],
  stream_failures_total: [{ ...sink, code: failureCodes }, 'Failed pumps of streams of the sink, by code.'],
  part_repairs_total: [
    { ...sink, repair: ['cut', 'short', 'replaced'] },
    'Parts cut back to their committed length, found shorter than it, or replaced by a new part.',
  ],
  tick_failures_total: [{}, 'Failed attempts of the scheduler to read which streams are due.'],
  config_reloads_total: [{ result: ['taken', 'refused'] }, 'Configurations read again on SIGHUP.'],
} as const satisfies Record<string, MetricRow>

/** Set when a value is measured; absent before. */
export const measuredMetrics = {
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
    'When the upload scanning figures of the zone were last read; time() minus this is their age.',
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
    'When the volumes of the application were last read; time() minus this is the age of their figures.',
  ],
  sink_free_bytes: [
    sink,
    "Free bytes on the disk of the file sink's path, read at scrape time. Absent before the path exists.",
  ],
  sink_size_bytes: [sink, "Size of the disk of the file sink's path, in bytes."],
  build_info: [{ version: 'any' }, 'Always 1; the label is the version.'],
} as const satisfies Record<string, MetricRow>

/** Read from the store at scrape time. */
export const stateMetrics = {
  zone_lag_seconds: [
    route,
    'Seconds since the time up to which all listed events were delivered. Grows while anything fails, also while the store does not answer.',
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
    'Time until the oldest unfinished day becomes unreadable, the one deadline that `status` and the page show too; +Inf where none is unfinished. Decreases also while the store does not answer.',
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
    '1 when the store answered at this scrape, else 0; at 0 the gauges that are read from the store are absent.',
  ],
} as const satisfies Record<string, MetricRow>

export type CountedMetric = keyof typeof countedMetrics
export type MeasuredMetric = keyof typeof measuredMetrics
export type StateMetric = keyof typeof stateMetrics

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
