import { stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Config, SinkConfig } from '../config/schema.ts'
import type { NoticedProblem } from '../domain/notices.ts'
import { within } from '../domain/promises.ts'
import { sizeText } from '../domain/text/counts.ts'
import { printable } from '../domain/text/terminal-text.ts'
import type { Clock } from '../ports/process.ts'
import type { Counting } from '../telemetry/metrics/metrics.ts'

interface Space {
  readonly device: number
  readonly freeBytes: number
  readonly sizeBytes: number
}

/** Undefined for a path that does not exist yet, or whose file system names no size. */
async function spaceAt(path: string): Promise<Space | undefined> {
  const [place, disk] = await Promise.all([stat(path), statfs(path)]).catch(() => [])
  if (place === undefined || disk === undefined || disk.blocks === 0) return undefined
  const { bavail, blocks, bsize } = disk
  return { device: place.dev, freeBytes: bavail * bsize, sizeBytes: blocks * bsize }
}

const fileSinks = (sinks: readonly SinkConfig[]) =>
  sinks.flatMap((sink) => (sink.type === 'file' ? [sink] : []))

/** Measures the disks of file sinks. */
export async function measureSpace(
  sinks: readonly SinkConfig[],
  metrics: Pick<Counting, 'measure'>,
): Promise<void> {
  const each = fileSinks(sinks).map(async ({ name, path }) => {
    const space = await spaceAt(path)
    const rows = (value?: number) => (value === undefined ? [] : [{ labels: { sink: name }, value }])
    metrics.measure('sink_free_bytes', { sink: name }, rows(space?.freeBytes))
    metrics.measure('sink_size_bytes', { sink: name }, rows(space?.sizeBytes))
  })
  await Promise.all(each)
}

/** A disk that does not answer must not delay what else is told. */
const patienceMs = 2_000

/** Finds the disks of this host that are nearly full, of file sinks and of the state: one problem a disk. */
export function watchDisks({ sinks, state }: Config, clock: Clock): () => Promise<NoticedProblem[]> {
  const places = [
    ...fileSinks(sinks).map(({ name, path }) => ({ name, what: `file sink ${printable(name)}`, path })),
    ...(state.kind === 'sqlite' ? [{ name: '', what: 'the state', path: dirname(state.path) }] : []),
  ]
  let reading: Promise<NoticedProblem[]> | undefined

  async function read(): Promise<NoticedProblem[]> {
    const each = places.map(async (place) => ({ ...place, space: await spaceAt(place.path) }))
    const full = (await Promise.all(each)).flatMap(({ space, ...place }) =>
      space !== undefined && isNearlyFull(space) ? [{ ...place, space }] : [],
    )
    return [...Map.groupBy(full, ({ space }) => space.device).values()].map((onDisk): NoticedProblem => {
      const { name, space } = onDisk[0]!
      const percent = Math.floor((space.freeBytes / space.sizeBytes) * 100)
      const whose = onDisk.map(({ what }) => what).join(' and ')
      return {
        kind: 'disk',
        sink: name,
        text: `The disk of ${whose} is nearly full: ${sizeText(space.freeBytes)} (${percent} %) are free.`,
        remedy:
          'What cannot be written waits, until the API no longer lists it. Free space, or enlarge the disk.',
      }
    })
  }

  return async () => {
    // One that hangs keeps a thread of Node: another one would be begun every time.
    reading ??= read().finally(() => (reading = undefined))
    const found = await within(patienceMs, reading, clock)
    return found === 'late' ? [] : found.value
  }
}

/** As the alert says. Of a small disk 1 GiB may be all there is: there a quarter counts. */
export function isNearlyFull({ freeBytes, sizeBytes }: Pick<Space, 'freeBytes' | 'sizeBytes'>): boolean {
  return freeBytes < Math.max(sizeBytes / 10, Math.min(2 ** 30, sizeBytes / 4))
}
