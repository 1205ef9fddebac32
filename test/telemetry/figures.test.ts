import { expect, test } from 'vitest'
import type { Figure, FiguresOf } from '../../src/domain/internal-event.ts'
import { parseExposition } from './metrics/exposition.ts'
import { Failure } from '../../src/domain/failure.ts'
import { setUp } from './stage.ts'

const figuresKnown = { scannedZones: [101, 102], apps: ['shop'] }
const [zone, other, shop] = [{ zone: 101 }, { zone: 102 }, { app: 'shop' }]
const files: Figure = { metric: 'upload_scanning_files_scanned', value: 9 }
const inGermany = { volume: 'data', region: 'DE' }

function ready() {
  const stage = setUp()
  const { metrics, known, emit } = stage
  metrics.prepare({ ...known, ...figuresKnown })
  const read = (of: FiguresOf, figures: readonly Figure[]) =>
    emit({ name: 'FiguresRead', of, account: 'default', figures, atMs: 5_000 })
  /** The series of figures, each as `name label,…: value`. */
  const series = async () =>
    [...parseExposition(await metrics.text())].flatMap(([name, { samples }]) =>
      /_(?:upload_scanning|volumes?)_/.test(name)
        ? samples.map(
            ({ labels, value }) =>
              `${name.replace('shieldlog_', '')} ${Object.values(labels).join()}: ${value}`,
          )
        : [],
    )
  return { ...stage, read, series }
}

test('the series are those of the last reading of each zone and application; none before, and none that is not configured', async () => {
  const { read, series } = ready()
  expect(await series()).toEqual([])
  read(zone, [files, { metric: 'upload_scanning_requests', labels: { result: 'blocked' }, value: 0 }])
  read({ zone: 109 }, [files])
  const ofZone = [
    'upload_scanning_files_scanned 101: 9',
    'upload_scanning_requests 101,blocked: 0',
    'upload_scanning_read_timestamp_seconds 101: 5',
  ]
  expect(await series()).toEqual(ofZone)
  const size = (value: number, labels = inGermany) =>
    ({ metric: 'volume_size_bytes', labels, value }) as const
  const usage = { metric: 'volume_usage_bytes', labels: inGermany, value: 3 } as const
  read(shop, [size(4), usage, size(1, { ...inGermany, volume: 'gone' })])
  expect((await series()).slice(3)).toEqual([
    'volume_size_bytes shop,data,DE: 4',
    'volume_size_bytes shop,gone,DE: 1',
    'volume_usage_bytes shop,data,DE: 3',
    'volumes_read_timestamp_seconds shop: 5',
  ])
  read(shop, [size(8)])
  read({ app: 'unknown' }, [size(8)])
  expect(await series()).toEqual([
    ...ofZone,
    'volume_size_bytes shop,data,DE: 8',
    'volumes_read_timestamp_seconds shop: 5',
  ])
})

test('a failed reading changes no value, and is logged once for all zones until all are read', async () => {
  const { emit, read, series, log } = ready()
  read(zone, [files])
  const before = await series()
  const failure = new Failure('retry', 'server_error', 'the API failed')
  for (const of of [zone, other])
    emit({ name: 'FiguresFailed', of, account: 'default', failure, neverRead: false })
  expect(await series()).toEqual(before)
  const msg = expect.stringMatching(/^zone 101 \(shop\): figures could not be read/) as string
  expect(log.lines()).toMatchObject([{ level: 'warn', zone: 101, msg }])
  read(zone, [files])
  expect(log.lines()).toHaveLength(1)
  read(other, [files])
  expect(log.lines().at(-1)).toMatchObject({ phase: 'ends', level: 'info' })
})

test('what was never read has the time 0, so that an alert on its age fires', async () => {
  const { emit, series } = ready()
  const failure = new Failure('stop', 'rejected', 'no such application')
  for (const of of [zone, shop])
    emit({ name: 'FiguresFailed', of, account: 'default', failure, neverRead: true })
  expect(await series()).toEqual([
    'upload_scanning_read_timestamp_seconds 101: 0',
    'volumes_read_timestamp_seconds shop: 0',
  ])
})

test('series are removed when another process takes over, and for zones and applications that are no longer configured', async () => {
  const { emit, metrics, known, read, series } = ready()
  for (const of of [zone, other]) read(of, [files])
  read(shop, [{ metric: 'volume_size_bytes', labels: inGermany, value: 4 }])
  metrics.prepare({ ...known, scannedZones: [102], apps: [] })
  const ofOther = ['upload_scanning_files_scanned 102: 9', 'upload_scanning_read_timestamp_seconds 102: 5']
  expect(await series()).toEqual(ofOther)
  emit({ name: 'FiguresHandedOver' })
  expect(await series()).toEqual([])
})
