import { expect, test } from 'vitest'
import type { VolumeFigures } from '../../src/domain/figures.ts'
import { parseExposition, valueOf } from './metrics/exposition.ts'
import { Failure } from '../../src/domain/failure.ts'
import { minute, setUp } from './stage.ts'

const figuresKnown = { scannedZones: [101, 102], apps: ['shop'] }

function ready() {
  const stage = setUp()
  const { metrics, known, emit } = stage
  metrics.prepare({ ...known, ...figuresKnown })
  const value = async (name: string, labels: Record<string, string>) =>
    valueOf(parseExposition(await metrics.text()), `shieldlog_${name}`, labels)
  const readVolumes = (figures: readonly VolumeFigures[], app = 'shop') =>
    emit({ name: 'VolumesRead', app, figures, atMs: 5_000 })
  return { ...stage, value, readVolumes }
}

test('upload scanning: one gauge for each figure, absent before the first reading and without a value of the API', async () => {
  const { emit, value } = ready()
  const zone = { zone: '101' }
  expect(await value('upload_scanning_files_scanned', zone)).toBeUndefined()
  expect(await value('upload_scanning_read_timestamp_seconds', zone)).toBeUndefined()
  emit({
    name: 'UploadScanningRead',
    zone: 101,
    figures: { filesScanned: 9, blockedRequests: 0 },
    atMs: 7_500,
  })
  expect(await value('upload_scanning_files_scanned', zone)).toBe(9)
  expect(await value('upload_scanning_requests', { ...zone, result: 'blocked' })).toBe(0)
  expect(await value('upload_scanning_requests', { ...zone, result: 'logged' })).toBeUndefined()
  expect(await value('upload_scanning_read_timestamp_seconds', zone)).toBe(7.5)
  emit({ name: 'UploadScanningRead', zone: 109, figures: { filesScanned: 9 }, atMs: 7_500 })
  expect(await value('upload_scanning_files_scanned', { zone: '109' })).toBeUndefined()
})

test('volumes: the series are from the last reading', async () => {
  const { value, readVolumes } = ready()
  const data = { app: 'shop', volume: 'data', region: 'DE' }
  readVolumes([
    { volume: 'data', region: 'DE', sizeBytes: 4, usageBytes: 3, fullestRatio: 0.9 },
    { volume: 'gone', region: 'DE', sizeBytes: 1 },
  ])
  expect(await value('volume_size_bytes', data)).toBe(4)
  expect(await value('volume_usage_bytes', data)).toBe(3)
  expect(await value('volume_fullest_ratio', data)).toBe(0.9)
  expect(await value('volumes_read_timestamp_seconds', { app: 'shop' })).toBe(5)
  readVolumes([{ volume: 'data', region: 'DE', sizeBytes: 8 }])
  expect(await value('volume_size_bytes', data)).toBe(8)
  expect(await value('volume_usage_bytes', data)).toBeUndefined()
  expect(await value('volume_size_bytes', { ...data, volume: 'gone' })).toBeUndefined()
  readVolumes([{ volume: 'data', region: 'DE', sizeBytes: 8 }], 'unknown')
  expect(await value('volume_size_bytes', { ...data, app: 'unknown' })).toBeUndefined()
})

test('a failed reading changes no value, and is logged once for all zones until all are read', async () => {
  const { emit, value, log, clock, tick } = ready()
  const read = (zone: number) =>
    emit({ name: 'UploadScanningRead', zone, figures: { filesScanned: 9 }, atMs: 1_000 })
  read(101)
  const failure = new Failure('retry', 'server_error', 'the API failed')
  for (const zone of [101, 102]) emit({ name: 'FiguresFailed', of: { zone }, account: 'default', failure })
  expect(await value('upload_scanning_files_scanned', { zone: '101' })).toBe(9)
  expect(await value('upload_scanning_read_timestamp_seconds', { zone: '101' })).toBe(1)
  const lines = () => log.lines().filter(({ event }) => event === 'FiguresFailed')
  expect(lines()).toHaveLength(1)
  expect(lines()[0]).toMatchObject({
    level: 'warn',
    zone: 101,
    msg: expect.stringMatching(
      /^zone 101 \(shop\): figures could not be read, so the metrics keep the last values/,
    ) as string,
  })
  read(101)
  expect(lines()).toHaveLength(1)
  await clock.advance(minute)
  read(102)
  tick()
  expect(lines().at(-1)).toMatchObject({ phase: 'ends', level: 'info' })
})

test('series are removed when another process takes over, and for zones and applications that are no longer configured', async () => {
  const { emit, metrics, known, value, readVolumes } = ready()
  const fill = () => {
    for (const zone of [101, 102])
      emit({ name: 'UploadScanningRead', zone, figures: { filesScanned: 9 }, atMs: 1_000 })
    readVolumes([{ volume: 'data', region: 'DE', sizeBytes: 4 }])
  }
  const left = async () => [
    await value('upload_scanning_files_scanned', { zone: '101' }),
    await value('upload_scanning_files_scanned', { zone: '102' }),
    await value('volume_size_bytes', { app: 'shop', volume: 'data', region: 'DE' }),
    await value('volumes_read_timestamp_seconds', { app: 'shop' }),
  ]
  fill()
  expect(await left()).toEqual([9, 9, 4, 5])
  metrics.prepare({ ...known, scannedZones: [102], apps: [] })
  expect(await left()).toEqual([undefined, 9, undefined, undefined])
  metrics.prepare({ ...known, ...figuresKnown })
  fill()
  emit({ name: 'FiguresHandedOver' })
  expect(await left()).toEqual(Array(4).fill(undefined))
})
