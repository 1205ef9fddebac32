import { messageOf } from '../../domain/failure.ts'
import type { FiguresOf } from '../../domain/figures.ts'
import { operations } from '../../domain/internal-event.ts'
import type { FoundZone } from '../../domain/zone-list.ts'
import type { Labels } from '../metrics/exposition.ts'
import { countPhrase, durationPhrase, instantPhrase, reasonPhrases } from '../phrases.ts'
import type { About, Definitions } from './definition.ts'

/** A larger offset would let a pump that used this host's clock read a day too early or too late. */
const skewWorthSayingMs = 30_000
/** A pause that follows another within this time continues the condition. */
const graceMs = 60_000
/** Whoever fails to read figures is tried again within ten minutes. */
const figuresFadeAfterMs = 1_800_000

export const apiInternalEvents: Definitions<
  | 'ApiAnswered'
  | 'ApiThrottled'
  | 'ClockSkewMeasured'
  | 'UploadScanningRead'
  | 'VolumesRead'
  | 'FiguresFailed'
  | 'FiguresHandedOver'
  | 'ZonesListed'
  | 'ZonesFound'
  | 'ZonesLeft'
  | 'ZonesRetired'
  | 'ZoneListingFailed'
> = {
  ApiAnswered: {
    level: 'debug',
    meaning: 'One request to the API ended. Each retry counts as a request.',
    count({ account, operation: given, outcome, seconds }, metrics) {
      const operation = operations.find((each) => each === given) ?? 'other'
      metrics.count('api_requests_total', { account, operation, outcome })
      metrics.count('api_request_duration_seconds', { operation }, seconds)
    },
    line: ({ account, operation, outcome, seconds }) =>
      `account ${account}: ${operation} ${outcome} in ${Math.round(seconds * 1000)} ms`,
  },
  ApiThrottled: {
    level: 'warn',
    meaning:
      'The API asked for a pause (429). All streams of the account wait as long as it asked. If it happens often, set api.maxRequestsPerSecond.',
    count({ account }, metrics) {
      metrics.count('api_throttled_total', { account })
    },
    report({ account, untilMs }, { nowMs }) {
      const askedMs = Math.max(0, untilMs - nowMs)
      const waitMs = Number.isFinite(askedMs) ? askedMs : 0
      return {
        group: account,
        message: `account ${account}: the API asks for a pause of ${durationPhrase(waitMs)} (429)`,
        about: `account ${account}: pauses that the API asked for`,
        fields: { account },
        details: { until: instantPhrase(untilMs) },
        hasEnd: true,
        fadesAfterMs: waitMs + graceMs,
      }
    },
  },
  ClockSkewMeasured: {
    level: 'warn',
    meaning:
      "The clock of this host differs from the API's by more than 30 s. shieldlog uses the API's clock for days; correct the clock of this host.",
    count({ account, offsetMs }, metrics) {
      metrics.measure('clock_skew_seconds', { account }, [{ labels: { account }, value: offsetMs / 1000 }])
    },
    ends({ account, offsetMs }, conditions) {
      // Written so that NaN neither ends nor begins a condition.
      if (Math.abs(offsetMs) <= skewWorthSayingMs) conditions.leave('ClockSkewMeasured', account)
    },
    report({ account, offsetMs }) {
      if (!(Math.abs(offsetMs) > skewWorthSayingMs)) return undefined
      const direction = offsetMs > 0 ? 'behind' : 'ahead of'
      const skew = `the clock of this host is ${durationPhrase(Math.abs(offsetMs))} ${direction} the API's`
      return {
        group: account,
        message: `account ${account}: ${skew}; shieldlog uses the API's clock for days; correct the clock of this host`,
        about: `account ${account}: wrong clock of this host`,
        fields: { account },
        details: { offsetSeconds: offsetMs / 1000 },
        hasEnd: true,
        fadesAfterMs: Number.POSITIVE_INFINITY,
        once: true,
      }
    },
  },
  UploadScanningRead: {
    level: 'debug',
    meaning: 'The upload scanning figures of a zone were read for the metrics.',
    count({ zone, figures: { filesScanned, loggedRequests, blockedRequests }, atMs }, metrics) {
      const of = { zone: String(zone) }
      metrics.measure('upload_scanning_files_scanned', of, row(of, filesScanned))
      metrics.measure('upload_scanning_requests', of, [
        ...row({ ...of, result: 'logged' }, loggedRequests),
        ...row({ ...of, result: 'blocked' }, blockedRequests),
      ])
      metrics.measure('upload_scanning_read_timestamp_seconds', of, row(of, atMs / 1000))
    },
    ends({ zone }, conditions) {
      conditions.leave('FiguresFailed', memberOf({ zone }))
    },
    line: ({ zone }, about) => ({ message: `upload scanning of ${about.zone(zone)} read`, fields: { zone } }),
  },
  VolumesRead: {
    level: 'debug',
    meaning: 'The volumes of a container application were read for the metrics.',
    count({ app, figures, atMs }, metrics) {
      const rowsOf = (name: 'sizeBytes' | 'usageBytes' | 'fullestRatio') =>
        figures.flatMap(({ volume, region, [name]: value }) => row({ app, volume, region }, value))
      metrics.measure('volume_size_bytes', { app }, rowsOf('sizeBytes'))
      metrics.measure('volume_usage_bytes', { app }, rowsOf('usageBytes'))
      metrics.measure('volume_fullest_ratio', { app }, rowsOf('fullestRatio'))
      metrics.measure('volumes_read_timestamp_seconds', { app }, row({ app }, atMs / 1000))
    },
    ends({ app }, conditions) {
      conditions.leave('FiguresFailed', memberOf({ app }))
    },
    line: ({ app, figures }) => ({
      message: `volumes of application ${app} read: ${countPhrase(figures.length, 'volume and region')}`,
      fields: { app, volumes: figures.length },
    }),
  },
  FiguresFailed: {
    level: 'warn',
    meaning:
      'Figures for the metrics could not be read. The metrics keep the last values, and their timestamp shows the age; shieldlog tries again within ten minutes. Event logs are not affected.',
    report({ of, account, failure }, about) {
      const kind = 'zone' in of ? 'upload scanning' : 'volumes'
      return {
        group: `${account} ${kind} ${failure.code}`,
        member: memberOf(of),
        ...('zone' in of && { zone: of.zone }),
        message: `${whatOf(of, about)} could not be read, so the metrics keep the last values: ${messageOf(failure)}`,
        about: `account ${account}: ${kind} could not be read: ${reasonPhrases[failure.code]}`,
        fields: { account, code: failure.code },
        details: { ...of },
        hasEnd: true,
        fadesAfterMs: figuresFadeAfterMs,
      }
    },
  },
  FiguresHandedOver: {
    level: 'info',
    meaning: 'Another process of the fleet now reads the figures; this one no longer exports them.',
    count(_, metrics) {
      for (const metric of figureMetrics) metrics.measure(metric, {}, [])
    },
    line: () => 'another process reads the figures of upload scanning and volumes',
  },
  ZonesListed: {
    level: 'debug',
    meaning: 'With `zones: all`: the API listed the zones of an account.',
    ends({ account }, conditions, about) {
      conditions.leave('ZoneListingFailed', account)
      conditions.retain(about.isConfigured)
    },
    line: ({ account, zones }) => `account ${account}: the API lists ${countPhrase(zones, 'zone')}`,
  },
  ZonesFound: {
    level: 'info',
    meaning:
      'With `zones: all`: the API lists zones that it did not list before. They are shipped from now on.',
    line: ({ account, zones }) => ({
      message: `account ${account}: ships ${namesOf(zones)}, listed by the API`,
      fields: { account, zones: idsOf(zones) },
    }),
  },
  ZonesLeft: {
    level: 'warn',
    meaning:
      'With `zones: all`: the API no longer lists these zones. shieldlog reads them until the API no longer answers for their days.',
    line: ({ account, zones }) => ({
      message: `account ${account}: ${namesOf(zones)} ${are(zones)} no longer listed by the API; shieldlog reads what the API still has of ${zones.length === 1 ? 'it' : 'them'}`,
      fields: { account, zones: idsOf(zones) },
    }),
  },
  ZonesRetired: {
    level: 'warn',
    meaning:
      'With `zones: all`: shieldlog stops reading zones that the API no longer lists, because the API no longer knows them or has no events of them left. Days that were not read to their end become gaps (`zone_gone`).',
    line({ account, zones, gaps }) {
      const lost = gaps === 0 ? 'all events were read' : `${countPhrase(gaps, 'gap')} recorded`
      return {
        message: `account ${account}: ${namesOf(zones)} ${are(zones)} retired: no longer listed by the API; ${lost}`,
        fields: { account, zones: idsOf(zones), gaps },
      }
    },
  },
  ZoneListingFailed: {
    level: 'warn',
    meaning:
      'With `zones: all`: the zones of an account could not be listed. shieldlog ships the zones of the last list; without a list it ships nothing of this account (level error). It tries again every 30 s.',
    report({ account, failure, known }) {
      const means =
        known === undefined
          ? 'nothing of this account is shipped'
          : `shieldlog ships the ${countPhrase(known, 'zone')} of the last list`
      return {
        group: account,
        level: known === undefined ? 'error' : 'warn',
        message: `${failure.message}; ${means}`,
        about: `the zones of account ${account} cannot be listed`,
        fields: { account },
        details: { code: failure.code, known },
        hasEnd: true,
      }
    },
  },
}

const figureMetrics = [
  'upload_scanning_files_scanned',
  'upload_scanning_requests',
  'upload_scanning_read_timestamp_seconds',
  'volume_size_bytes',
  'volume_usage_bytes',
  'volume_fullest_ratio',
  'volumes_read_timestamp_seconds',
] as const

function row(labels: Labels, value: number | undefined) {
  return value === undefined ? [] : [{ labels, value }]
}

function memberOf(of: FiguresOf): string {
  return 'zone' in of ? `zone ${of.zone}` : `app ${of.app}`
}

function whatOf(of: FiguresOf, about: About): string {
  return 'zone' in of ? `upload scanning of ${about.zone(of.zone)}` : `volumes of application ${of.app}`
}

const mostNamed = 20

function namesOf(zones: readonly FoundZone[]): string {
  const named = zones
    .slice(0, mostNamed)
    .map(({ id, name }) => (name === '' || name === String(id) ? String(id) : `${id} (${name})`))
  const more = zones.length > mostNamed ? ` and ${zones.length - mostNamed} more` : ''
  return `${zones.length === 1 ? 'zone' : 'zones'} ${named.join(', ')}${more}`
}

function are(zones: readonly FoundZone[]): string {
  return zones.length === 1 ? 'is' : 'are'
}

function idsOf(zones: readonly FoundZone[]): number[] {
  return zones.map(({ id }) => id)
}
