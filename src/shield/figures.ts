import type { Figure, FiguresOf } from '../domain/internal-event.ts'
import { Failure } from '../domain/failure.ts'
import { printable } from '../domain/text/terminal-text.ts'
import * as z from 'zod'
import { pathSegment, type ShieldClient } from './client/client.ts'

const bytesOfGigabyte = 1e9
/** Labels hold names from the wire: their length and number are bounded. */
const longestLabel = 100
const mostSeries = 500

/** The figures of a zone or an application. Throws Failure, also for an answer that is not whole. */
export async function readFigures(
  client: ShieldClient,
  of: FiguresOf,
  signal: AbortSignal,
): Promise<readonly Figure[]> {
  if ('app' in of) {
    const { items, isWhole } = await listVolumes(client, of.app, signal)
    if (isWhole) return volumeFigures(items)
    const what = `the list of volumes of application ${printable(of.app)}`
    throw new Failure('retry', 'bad_body', `${what} does not end: it repeats`)
  }
  const read = await readUploadScanning(client, of.zone, signal)
  return [
    ...figure('upload_scanning_files_scanned', {}, read.totalFilesScanned),
    ...figure('upload_scanning_requests', { result: 'logged' }, read.totalLoggedRequests),
    ...figure('upload_scanning_requests', { result: 'blocked' }, read.totalBlockedRequests),
  ]
}

function figure(
  metric: Figure['metric'],
  labels: NonNullable<Figure['labels']>,
  value: number | null | undefined,
): Figure[] {
  return value === null || value === undefined ? [] : [{ metric, labels, value }]
}

/** By volume and region, since a metric may not have the ids of instances as labels. */
export function volumeFigures(templates: readonly VolumeTemplate[]): Figure[] {
  const labelled = templates.flatMap(({ name, id, volumeInstances }) =>
    (volumeInstances ?? []).map((instance) => {
      const volume = printable(name ?? id ?? '', longestLabel)
      return { labels: { volume, region: printable(instance.region ?? '', longestLabel) }, instance }
    }),
  )
  const groups = Map.groupBy(labelled, ({ labels }) => JSON.stringify(labels))
  return [...groups.values()].slice(0, mostSeries).flatMap((own) => {
    const { labels } = own[0]!
    const instances = own.map(({ instance }) => instance)
    return [
      ...figure('volume_size_bytes', labels, totalBytes(instances.map(({ size }) => size))),
      ...figure('volume_usage_bytes', labels, totalBytes(instances.map(({ usage }) => usage))),
      ...figure('volume_fullest_ratio', labels, fullestOf(instances)),
    ]
  })
}

/** Of sizes in GB; undefined where one of them has no value: the sum would be too small. */
function totalBytes(sizes: readonly (number | null | undefined)[]): number | undefined {
  const told = sizes.filter((size) => typeof size === 'number')
  const sum = told.reduce((total, size) => total + size, 0)
  return told.length < sizes.length ? undefined : Math.round(sum * bytesOfGigabyte)
}

function fullestOf(instances: readonly VolumeInstance[]): number | undefined {
  const ratios = instances.map(({ size, usage }) => (usage ?? NaN) / (size ?? NaN)).filter(Number.isFinite)
  return ratios.length === 0 ? undefined : Math.max(...ratios)
}

const text = z.string().nullish()
const number = z.number().nullish()

/** Sizes and usage in GB. The state is called `set` in the description of the interface and `status` in newer ones. */
const VolumeInstance = z.looseObject({
  id: text,
  attachedPods: z.array(z.string()).nullish(),
  attachedContainers: z.array(z.string()).nullish(),
  region: text,
  size: number,
  usage: number,
  set: text,
  status: z.union([z.string(), z.number()]).nullish(),
})
export type VolumeInstance = z.output<typeof VolumeInstance>

const VolumeTemplate = z.looseObject({
  name: text,
  id: text,
  size: number,
  totalUsage: number,
  totalInstancesCount: number,
  attachedInstancesCount: number,
  containersCount: number,
  volumeInstances: z.array(VolumeInstance).nullish(),
})
export type VolumeTemplate = z.output<typeof VolumeTemplate>

const VolumeList = z.looseObject({
  items: z.array(VolumeTemplate).nullish(),
  meta: z.looseObject({ totalItems: number }).nullish(),
  cursor: text,
  summary: z.looseObject({ totalPods: number, totalContainers: number, totalStorage: number }).nullish(),
})
type VolumeList = z.output<typeof VolumeList>

const mostPages = 1_000

/**
 * Reads all volumes of an application. That the next page is requested by the query `nextCursor` is an assumption,
 * taken from the related lists. If the API ignores it, the first page comes again: items are therefore deduplicated by
 * id, and a cursor that repeats, or a page that brings nothing new, ends the reading: then `isWhole` is false, unless
 * all that the first page counts are there. Throws Failure.
 */
export async function listVolumes(client: ShieldClient, appId: string, signal: AbortSignal) {
  const items = new Map<string, VolumeTemplate>()
  const cursors = new Set<string>()
  let summary: VolumeList['summary']
  let expected = Number.POSITIVE_INFINITY
  let cursor = ''
  for (let page = 0; page < mostPages; page++) {
    const query = cursor === '' ? '' : `?nextCursor=${encodeURIComponent(cursor.toWellFormed())}`
    const path = `/mc/apps/${pathSegment(appId)}/volumes${query}`
    const list = await client.get('volumes', path, VolumeList, signal)
    if (page === 0) {
      summary = list.summary
      expected = list.meta?.totalItems ?? expected
    }
    const before = items.size
    for (const item of list.items ?? []) items.set(item.id ?? JSON.stringify(item), item)
    cursor = list.cursor ?? ''
    if ((list.items ?? []).length === 0 || cursor === '')
      return { items: [...items.values()], summary, isWhole: true }
    if (cursors.has(cursor) || items.size === before) break
    cursors.add(cursor)
  }
  return { items: [...items.values()], summary, isWhole: items.size >= expected }
}

/** Figures of the past 28 days, each field as received; the map has one entry a day. */
const UploadScanningMetrics = z.looseObject({
  overviewPastTwentyEightDays: z.record(z.string(), z.unknown()).nullish(),
  totalLoggedRequests: number,
  totalBlockedRequests: number,
  totalFilesScanned: number,
})
export type UploadScanningMetrics = z.output<typeof UploadScanningMetrics>

/** `error` is an envelope that the client has looked at: one with a message or a key is a failure. */
const Answer = z.looseObject({ data: UploadScanningMetrics.nullish(), error: z.unknown().optional() })

/** Throws Failure. */
export async function readUploadScanning(
  client: ShieldClient,
  zone: number,
  signal: AbortSignal,
): Promise<UploadScanningMetrics> {
  const path = `/shield/metrics/shield-zone/${zone}/upload-scanning`
  const { data: value } = await client.get('upload_scanning', path, Answer, signal)
  if (value === null || value === undefined)
    throw new Failure('refuse', 'rejected', `the API has no upload scanning metrics for zone ${zone}`)
  return value
}
