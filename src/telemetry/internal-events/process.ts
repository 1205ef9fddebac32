import { messageOf } from '../../domain/failure.ts'
import { figureMetrics, requestOutcomes } from '../../domain/internal-event.ts'
import { counted, firstOf, zoneText } from '../../domain/text/terminal-text.ts'
import { durationText } from '../../domain/text/time.ts'
import type { FoundZone } from '../../domain/zone-list.ts'
import type { SomeDefinitions } from './definition.ts'

/** A larger offset would let a pump that used this host's clock read a day too early or too late. */
const skewWorthSayingMs = 30_000
/** A pause that follows another within this time continues the condition. */
const graceMs = 60_000
/** Whoever fails to read figures is tried again within ten minutes. */
const figuresFadeAfterMs = 1_800_000

/** The process, the API, and work outside a stream's checkpoint; a stack in a line means a bug. */
export const processInternalEvents = {
  NoticeSent: {
    level: 'info',
    meaning: 'A place of `notify` was told of a problem, or of its end.',
    counts: { notifications_total: 1 },
    labels: ({ place }) => ({ name: place, outcome: 'ok' }),
    ends: ['NoticeFailed'],
  },
  NoticeFailed: {
    level: 'error',
    meaning: 'A place of `notify` did not take a message. It is tried again every 30 s.',
    counts: { notifications_total: 1 },
    labels: ({ place, failure: { code } }) => ({
      name: place,
      outcome: requestOutcomes.find((each) => each === code) ?? 'rejected',
    }),
    text: ({ failure }) => failure.message,
    condition: { by: ['place', 'code'], hasEnd: true },
  },
  HeartbeatFailed: {
    level: 'warn',
    meaning: 'The address of `heartbeat` could not be reached.',
    text: ({ failure }) => failure.message,
    condition: { by: ['code'], hasEnd: true },
  },
  HeartbeatSent: {
    level: 'debug',
    meaning: 'The address of `heartbeat` was reached.',
    ends: ['HeartbeatFailed'],
  },
  Started: {
    level: 'info',
    meaning: 'The process has started.',
    text: ({ version, zones, sinks, state }) =>
      `shieldlog ${version} ships ${counted(zones, 'zone')} to ${sinks.join(', ')}; state in ${state}`,
  },
  Stopping: {
    level: 'info',
    meaning:
      'A signal asked the process to stop. It finishes the deliveries in progress; a second signal ends it at once.',
    text: ({ signal }) => `stopping (${signal})`,
  },
  Stopped: {
    level: 'info',
    meaning: 'The process has stopped and closed everything. This is its last line.',
    text: () => 'stopped',
  },
  ServerListening: {
    level: 'info',
    meaning: 'Metrics, health and status are served at this address.',
    text: ({ address }) => `serving metrics, health and status at ${address}`,
  },
  ConfigReloaded: {
    level: 'warn',
    meaning: 'The new configuration is in force. Level warn: a change needs a restart.',
    counts: { config_reloads_total: 1 },
    labels: { result: 'taken' },
    // They may be of zones and sinks that are no longer configured.
    ends: ['StreamFailed', 'ScanGuarded', 'FiguresFailed', 'ZoneListingFailed'],
    levelOf: ({ needsRestart }) => (needsRestart.length === 0 ? 'info' : 'warn'),
    text({ changed, needsRestart }) {
      const what = changed.length === 0 ? 'nothing changed' : `changed: ${changed.join(', ')}`
      const waits = needsRestart.length === 0 ? '' : `; needs a restart: ${needsRestart.join(', ')}`
      return `read the configuration again; ${what}${waits}`
    },
  },
  ConfigRefused: {
    level: 'error',
    meaning: 'The new configuration has errors, which the line lists. The old one stays in force.',
    counts: { config_reloads_total: 1 },
    labels: { result: 'refused' },
    text: ({ errors }) =>
      `the new configuration has ${counted(errors.length, 'error')}, the old one stays in force: ${errors.join('; ')}`,
  },
  Warned: {
    level: 'warn',
    meaning: 'A warning without a more specific event; `about` names the part of shieldlog.',
    text: ({ about, text }) => `${about}: ${text}`,
    condition: { by: ['about', 'text'] },
  },
  TickFailed: {
    level: 'error',
    meaning: 'The scheduler could not read which streams are due. It tries again after a second.',
    counts: { tick_failures_total: 1 },
    text: ({ error }) => `cannot look for streams that are due: ${messageOf(error)}`,
    condition: { by: ['code'] },
  },
  PumpFailed: {
    level: 'error',
    meaning:
      'Work on a stream failed, and the store could not record the failure. The stream is tried again after a few seconds.',
    text: ({ error }) => messageOf(error),
    condition: { by: ['code'] },
  },
  UpkeepFailed: {
    level: 'error',
    meaning:
      'A background task (heartbeat, housekeeping, reconciliation of the files with their committed lengths, removal of old days, figures for metrics, discovery of zones) failed. It is tried again.',
    text: ({ task, error }) => `${task} failed: ${messageOf(error)}`,
    condition: { by: ['task', 'code'] },
  },
  QueueFailed: {
    level: 'error',
    meaning: 'The queue in Redis failed. Streams continue from their checkpoints when Redis answers.',
    text: ({ error }) => `the queue stands still: ${messageOf(error)}`,
    condition: { by: ['code'], hasEnd: true },
  },
  QueueRecovered: {
    level: 'info',
    meaning: 'The queue has had no error for ten seconds: a line reports the end of each QueueFailed.',
    ends: ['QueueFailed'],
  },
  ApiAnswered: {
    level: 'debug',
    meaning: 'One request to the API ended. Each retry counts as a request.',
    counts: { api_requests_total: 1, api_request_duration_seconds: 'seconds' },
    text: ({ operation, outcome, seconds }) => `${operation} ${outcome} in ${Math.round(seconds * 1000)} ms`,
  },
  ApiThrottled: {
    level: 'warn',
    meaning:
      'The API asked for a pause (429). All streams of the account wait as long as it asked. If it happens often, set api.maxRequestsPerSecond.',
    counts: { api_throttled_total: 1 },
    text: ({ untilMs }, { nowMs }) =>
      `the API asks for a pause of ${durationText(secondsUntil(untilMs, nowMs))} (429)`,
    condition: {
      by: ['account'],
      hasEnd: true,
      lastsMs: ({ untilMs }, { nowMs }) => secondsUntil(untilMs, nowMs) * 1000 + graceMs,
    },
  },
  ClockSkewMeasured: {
    level: 'warn',
    meaning:
      "The clock of this host differs from the API's by more than 30 s. shieldlog uses the API's clock for days; correct the clock of this host.",
    levelOf: ({ offsetMs }) => (Math.abs(offsetMs) > skewWorthSayingMs ? 'warn' : 'debug'),
    measure({ account, offsetMs }, metrics) {
      metrics.measure('clock_skew_seconds', { account }, [{ labels: { account }, value: offsetMs / 1000 }])
    },
    text: ({ offsetMs }) =>
      `the clock of this host is ${durationText(Math.abs(offsetMs) / 1000)} ${offsetMs > 0 ? 'behind' : 'ahead of'} the API's; correct it`,
    condition: { by: ['account'], hasEnd: true, lastsMs: Infinity },
  },
  FiguresRead: {
    level: 'debug',
    meaning: 'Figures of upload scanning or volumes were read for the metrics.',
    measure({ of, figures, atMs }, metrics) {
      const labels = 'zone' in of ? { zone: String(of.zone) } : of
      for (const metric of figureMetrics) {
        const own = figures.filter((figure) => figure.metric === metric)
        const rows = own.map((figure) => ({ labels: { ...labels, ...figure.labels }, value: figure.value }))
        metrics.measure(metric, labels, rows)
      }
      const readAt = 'zone' in of ? readTimes[0] : readTimes[1]
      metrics.measure(readAt, labels, [{ labels, value: atMs / 1000 }])
    },
    ends: ['FiguresFailed'],
    text: ({ figures }) => `${counted(figures.length, 'figure')} read`,
    fields: ({ of, account }) => ({ ...of, account }),
  },
  FiguresFailed: {
    level: 'warn',
    meaning:
      'Figures for the metrics could not be read. The metrics keep the last values, and their timestamp shows the age; shieldlog tries again within ten minutes. Event logs are not affected.',
    text: ({ failure }) => `figures could not be read: ${messageOf(failure)}`,
    condition: { by: ['account', 'code'], hasEnd: true, lastsMs: figuresFadeAfterMs },
  },
  FiguresHandedOver: {
    level: 'info',
    meaning: 'Another process of the fleet now reads the figures; this one no longer exports them.',
    measure(_, metrics) {
      for (const metric of [...figureMetrics, ...readTimes]) metrics.measure(metric, {}, [])
    },
    text: () => 'another process reads the figures of upload scanning and volumes',
  },
  ZonesListed: {
    level: 'debug',
    meaning: 'With `zones: all`: the API listed the zones of an account.',
    ends: ['ZoneListingFailed'],
    text: ({ zones }) => `the API lists ${counted(zones, 'zone')}`,
  },
  ZonesFound: {
    level: 'info',
    meaning: 'With `zones: all`: the API lists new zones. They are shipped from now on.',
    text: ({ zones }) => `ships ${zonesText(zones)}, listed by the API`,
    fields: listedFields,
  },
  ZonesLeft: {
    level: 'warn',
    meaning:
      'With `zones: all`: the API no longer lists these zones. shieldlog reads them until the API no longer answers for their days.',
    text: ({ zones }) => `the API no longer lists ${zonesText(zones)}; what it still has is read`,
    fields: listedFields,
  },
  ZonesRetired: {
    level: 'warn',
    meaning:
      'With `zones: all`: shieldlog stops reading zones that the API no longer lists, because the API no longer knows them or has no events of them left. Days that were not read to their end become gaps (`zone_gone`).',
    text({ zones, gaps }) {
      const lost = gaps === 0 ? 'all events were read' : `${counted(gaps, 'gap')} recorded`
      return `stops reading ${zonesText(zones)}, which the API no longer lists; ${lost}`
    },
    fields: listedFields,
  },
  ZoneListingFailed: {
    level: 'error',
    meaning:
      'With `zones: all`: the zones of an account could not be listed. shieldlog ships the zones of the last list; without a list it ships nothing of this account (level error). It tries again every 30 s.',
    levelOf: ({ known }) => (known === undefined ? 'error' : 'warn'),
    text: ({ failure, known }) =>
      `${failure.message}; ${known === undefined ? 'nothing of this account is shipped' : `shieldlog ships the ${counted(known, 'zone')} of the last list`}`,
    condition: { by: ['account'], hasEnd: true },
  },
} satisfies SomeDefinitions

const readTimes = ['upload_scanning_read_timestamp_seconds', 'volumes_read_timestamp_seconds'] as const

function secondsUntil(atMs: number, nowMs: number): number {
  const seconds = (atMs - nowMs) / 1000
  return Number.isFinite(seconds) ? Math.max(0, seconds) : 0
}

const mostNamed = 20

function zonesText(zones: readonly FoundZone[]): string {
  const names = zones.map(({ id, name }) => zoneText(id, name))
  return `${zones.length === 1 ? 'zone' : 'zones'} ${firstOf(names, mostNamed)}`
}

type Listed = Readonly<{ account: string; zones: readonly FoundZone[]; gaps?: number }>

function listedFields({ account, zones, gaps }: Listed) {
  return { account, zones: zones.map(({ id }) => id), gaps }
}
