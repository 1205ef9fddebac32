import type { FiguresOf } from '../../domain/figures.ts'
import { messageOf } from '../../domain/failure.ts'
import type { Definitions, Voice } from '../definition.ts'
import type { Labels } from '../metrics/exposition.ts'
import { countPhrase, reasonPhrases } from '../phrases.ts'

/** Whoever fails is tried again within ten minutes. */
const fadesAfterMs = 1_800_000

function memberOf(of: FiguresOf): string {
  return 'zone' in of ? `zone ${of.zone}` : `app ${of.app}`
}

function whatOf(of: FiguresOf, voice: Voice): string {
  return 'zone' in of ? `upload scanning of ${voice.zone(of.zone)}` : `volumes of application ${of.app}`
}

function row(labels: Labels, value: number | undefined) {
  return value === undefined ? [] : [{ labels, value }]
}

export const figureInternalEvents: Definitions<
  'UploadScanningRead' | 'VolumesRead' | 'FiguresFailed' | 'FiguresHandedOver'
> = {
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
    tell({ zone }, voice) {
      voice.conditions.leave('FiguresFailed', memberOf({ zone }))
      voice.detail(() => [`upload scanning of ${voice.zone(zone)} read`, { zone }])
    },
  },
  VolumesRead: {
    level: 'debug',
    meaning: 'The volumes of a container application were read for the metrics.',
    count({ app, figures, atMs }, metrics) {
      const labelsOf = ({ volume, region }: (typeof figures)[number]) => ({ app, volume, region })
      const rowsOf = (name: 'sizeBytes' | 'usageBytes' | 'fullestRatio') =>
        figures.flatMap((each) => row(labelsOf(each), each[name]))
      metrics.measure('volume_size_bytes', { app }, rowsOf('sizeBytes'))
      metrics.measure('volume_usage_bytes', { app }, rowsOf('usageBytes'))
      metrics.measure('volume_fullest_ratio', { app }, rowsOf('fullestRatio'))
      metrics.measure('volumes_read_timestamp_seconds', { app }, row({ app }, atMs / 1000))
    },
    tell({ app, figures }, voice) {
      voice.conditions.leave('FiguresFailed', memberOf({ app }))
      voice.detail(() => [
        `volumes of application ${app} read: ${countPhrase(figures.length, 'volume and region')}`,
        { app, volumes: figures.length },
      ])
    },
  },
  FiguresFailed: {
    level: 'warn',
    meaning:
      'Figures for the metrics could not be read. The metrics keep the last values, and their timestamp shows the age; shieldlog tries again within ten minutes. Event logs are not affected.',
    tell({ of, account, failure }, voice) {
      const kind = 'zone' in of ? 'upload scanning' : 'volumes'
      voice.report({
        group: `${account} ${kind} ${failure.code}`,
        member: memberOf(of),
        level: 'warn',
        ...('zone' in of && { zone: of.zone }),
        message: `${whatOf(of, voice)} could not be read, so the metrics keep the last values: ${messageOf(failure)}`,
        about: `account ${account}: ${kind} could not be read: ${reasonPhrases[failure.code]}`,
        fields: { account, code: failure.code },
        details: { ...of },
        hasEnd: true,
        fadesAfterMs,
      })
    },
  },
  FiguresHandedOver: {
    level: 'info',
    meaning: 'Another process of the fleet now reads the figures; this one no longer exports them.',
    count(_internal_event, metrics) {
      for (const metric of figureMetrics) metrics.measure(metric, {}, [])
    },
    tell(_internal_event, voice) {
      voice.line('info', 'another process reads the figures of upload scanning and volumes')
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
