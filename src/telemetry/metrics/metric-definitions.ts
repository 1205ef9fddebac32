import { refusalReasons, skipReasons } from '../../domain/event/delivery.ts'
import { failureCodes } from '../../domain/failure.ts'
import { gapReasons } from '../../domain/gap.ts'
import { operations, requestOutcomes } from '../../domain/internal-event.ts'
import { guards } from '../../domain/scan/guards.ts'
import { queueStates } from '../../domain/plan/snapshot.ts'
import { streamStates } from '../../domain/plan/stream-state.ts'
import { commitBuckets, delayBuckets, type MetricDefinition, requestBuckets } from './metric-definition.ts'

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
  eventsFetched: {
    name: 'events_fetched_total',
    type: 'counter',
    labels: zone,
    help: 'Events on pages read from the API, re-reads included, once for each sink.',
  },
  eventsDelivered: {
    name: 'events_delivered_total',
    type: 'counter',
    labels: route,
    help: 'Events that the sink accepted, counted at the commit.',
  },
  eventsDuplicate: {
    name: 'events_duplicate_total',
    type: 'counter',
    labels: route,
    help: 'Events not delivered again because the stream had delivered them before. Re-reads cause them; they are not errors.',
  },
  eventsFiltered: {
    name: 'events_filtered_total',
    type: 'counter',
    labels: route,
    help: 'Events that `where` and `sample` of the sink leave out; the ledger records them.',
  },
  eventsLate: {
    name: 'events_late_total',
    type: 'counter',
    labels: route,
    help: 'Delivered events that the API listed later than poll.overlapMinutes; the lag does not include them.',
  },
  eventsDeadLettered: {
    name: 'events_dead_lettered_total',
    type: 'counter',
    labels: { ...sink, reason: refusalReasons },
    help: 'Events that the sink will never accept, kept as dead letters.',
  },
  eventsSkipped: {
    name: 'events_skipped_total',
    type: 'counter',
    labels: { ...route, reason: skipReasons },
    help: 'Events that the destination takes no more, since they are too old. The ledger records them; they are no dead letters.',
  },
  eventsLost: {
    name: 'events_lost_total',
    type: 'counter',
    labels: sink,
    help: 'Events of acknowledged bodies that the destination said it dropped, without saying which.',
  },
  pagesFetched: {
    name: 'pages_fetched_total',
    type: 'counter',
    labels: route,
    help: 'Pages read from the API.',
  },
  apiRequests: {
    name: 'api_requests_total',
    type: 'counter',
    labels: { ...account, operation: operations, outcome: requestOutcomes },
    help: 'Requests to the API by outcome; each try counts.',
  },
  apiRequestDuration: {
    name: 'api_request_duration_seconds',
    type: 'histogram',
    labels: { operation: operations },
    buckets: requestBuckets,
    help: 'Time from sending a request to the API until its answer was read.',
  },
  apiThrottled: {
    name: 'api_throttled_total',
    type: 'counter',
    labels: account,
    help: 'Answers of the API that asked for a pause (429).',
  },
  gapsRecorded: {
    name: 'gaps_recorded_total',
    type: 'counter',
    labels: { ...route, reason: gapReasons },
    help: 'Gaps recorded by this process: events that the API no longer lists. Any increase is a loss.',
  },
  eventDelay: {
    name: 'event_delay_seconds',
    type: 'histogram',
    labels: { ...sink, ...priority },
    buckets: delayBuckets,
    help: 'Time from the event to its delivery; event times in the future count as 0.',
  },
  sinkRequests: {
    name: 'sink_requests_total',
    type: 'counter',
    labels: { ...sink, outcome: requestOutcomes },
    help: 'Requests or writes to the sink by outcome; each try counts.',
  },
  sinkRequestDuration: {
    name: 'sink_request_duration_seconds',
    type: 'histogram',
    labels: sink,
    buckets: requestBuckets,
    help: 'Time until the sink answered a request or finished a write.',
  },
  sinkBytes: {
    name: 'sink_bytes_total',
    type: 'counter',
    labels: sink,
    help: 'Bytes that the sink accepted.',
  },
  commitDuration: {
    name: 'checkpoint_commit_duration_seconds',
    type: 'histogram',
    labels: {},
    buckets: commitBuckets,
    help: 'Time that the store needed for a commit.',
  },
  scansGuarded: {
    name: 'scans_guarded_total',
    type: 'counter',
    labels: { guard: guards },
    help: 'Scans that shieldlog stopped because the listing did not end.',
  },
  streamFailures: {
    name: 'stream_failures_total',
    type: 'counter',
    labels: { ...sink, code: failureCodes },
    help: 'Failed pumps of streams of the sink, by code.',
  },
  partRepairs: {
    name: 'part_repairs_total',
    type: 'counter',
    labels: { ...sink, repair: ['cut', 'short', 'replaced'] },
    help: 'Parts cut back to their committed length, found shorter than it, or replaced by a new part.',
  },
  tickFailures: {
    name: 'tick_failures_total',
    type: 'counter',
    labels: {},
    help: 'Failed attempts of the scheduler to read which streams are due.',
  },
  configReloads: {
    name: 'config_reloads_total',
    type: 'counter',
    labels: { result: ['taken', 'refused'] },
    help: 'Configurations read again on SIGHUP, taken or refused.',
  },
} as const satisfies Record<string, MetricDefinition>

/** Set when a value is measured; absent before. */
export const measuredMetrics = {
  clockSkew: {
    name: 'clock_skew_seconds',
    type: 'gauge',
    labels: account,
    help: "The API's clock minus this host's clock at the latest answer.",
  },
  zoneInfo: {
    name: 'zone_info',
    type: 'gauge',
    labels: { ...zone, name: [], ...account },
    help: 'Always 1, for each configured zone; its labels join the name and account to metrics with the zone id.',
  },
  uploadFilesScanned: {
    name: 'upload_scanning_files_scanned',
    type: 'gauge',
    labels: scannedZone,
    help: 'Files that upload scanning looked at in the past 28 days. Keeps the last value while the API fails.',
  },
  uploadRequests: {
    name: 'upload_scanning_requests',
    type: 'gauge',
    labels: { ...scannedZone, result: ['logged', 'blocked'] },
    help: 'Requests that upload scanning logged or blocked in the past 28 days.',
  },
  uploadScanningRead: {
    name: 'upload_scanning_read_timestamp_seconds',
    type: 'gauge',
    labels: scannedZone,
    help: 'When the upload scanning figures of the zone were last read; time() minus this is their age.',
  },
  volumeSize: {
    name: 'volume_size_bytes',
    type: 'gauge',
    labels: volume,
    help: 'Size of the volume in that region, all its instances together. Keeps the last value while the API fails.',
  },
  volumeUsage: {
    name: 'volume_usage_bytes',
    type: 'gauge',
    labels: volume,
    help: 'Used bytes of the volume in that region, all its instances together.',
  },
  volumeFullest: {
    name: 'volume_fullest_ratio',
    type: 'gauge',
    labels: volume,
    help: 'Used share of the fullest instance of the volume in that region: 1 is full.',
  },
  volumesRead: {
    name: 'volumes_read_timestamp_seconds',
    type: 'gauge',
    labels: app,
    help: 'When the volumes of the application were last read; time() minus this is the age of their figures.',
  },
  buildInfo: {
    name: 'build_info',
    type: 'gauge',
    labels: { version: [] },
    help: 'Always 1; the label is the version.',
  },
} as const satisfies Record<string, MetricDefinition>

/** Read from the store at scrape time. */
export const stateMetrics = {
  lag: {
    name: 'zone_lag_seconds',
    type: 'gauge',
    labels: route,
    help: 'Seconds since the time up to which all listed events were delivered. Grows while anything fails, also while the store does not answer.',
  },
  caughtUp: {
    name: 'zone_caught_up_timestamp_seconds',
    type: 'gauge',
    labels: route,
    help: 'The time up to which all listed events were delivered; time() minus this is the lag.',
  },
  newestEvent: {
    name: 'zone_newest_event_timestamp_seconds',
    type: 'gauge',
    labels: route,
    help: 'Time of the newest delivered event; absent until there is one. It is old on a quiet zone, so it does not measure lag.',
  },
  timeToLoss: {
    name: 'time_to_loss_seconds',
    type: 'gauge',
    labels: route,
    help: 'Time until the oldest unfinished day becomes unreadable, the one deadline that `status` and the page show too; +Inf where none is unfinished. Decreases also while the store does not answer.',
  },
  streams: {
    name: 'streams',
    type: 'gauge',
    labels: { state: streamStates },
    help: 'Streams (one zone, one day, one sink) by state.',
  },
  gaps: {
    name: 'gaps',
    type: 'gauge',
    labels: route,
    help: 'Gaps that nobody has acknowledged: events that the API no longer lists. Also of routes that left the configuration. `gaps acknowledge` sets it to 0.',
  },
  deadLetters: {
    name: 'dead_letters',
    type: 'gauge',
    labels: sink,
    help: 'Events that the sink refused and that wait to be replayed or dropped.',
  },
  queueJobs: {
    name: 'queue_jobs',
    type: 'gauge',
    labels: { ...priority, state: queueStates },
    help: 'Streams in the schedule by priority and state. waiting: due and not begun; active: in work; delayed: waiting after a failure.',
  },
  stateUp: {
    name: 'state_up',
    type: 'gauge',
    labels: {},
    help: '1 when the store answered at this scrape, else 0; at 0 the gauges that are read from the store are absent.',
  },
} as const satisfies Record<string, MetricDefinition>

export type CountedMetric = keyof typeof countedMetrics
export type MeasuredMetric = keyof typeof measuredMetrics

/** Every metric of shieldlog itself, in the order of the reference. */
export const metricDefinitions: readonly MetricDefinition[] = [
  ...Object.values(countedMetrics),
  ...Object.values(stateMetrics),
  ...Object.values(measuredMetrics),
]
