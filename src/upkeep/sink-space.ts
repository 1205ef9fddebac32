import { stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Config, SinkConfig } from '../config/schema.ts'
import type { NoticedProblem } from '../domain/notices.ts'
import { within, type Waits } from '../domain/promises.ts'
import { sizeText, printable } from '../domain/text/terminal-text.ts'
import { lacksInodes } from '../disk.ts'
import type { Metrics } from '../telemetry/metrics/metrics.ts'

interface Space {
  readonly device: number
  /** None where no file can be made any more. */
  readonly freeBytes: number
  readonly sizeBytes: number
  readonly lacksInodes: boolean
}

/** A disk that does not answer must not delay what else is measured and told. */
const patienceMs = 2_000
/** By path. One that hangs keeps a thread of Node, which has few: another one would be begun every time. */
const underWay = new Map<string, Promise<Space | undefined>>()

/** Undefined for a path that does not exist yet, whose file system names no size, or whose disk does not answer. */
async function spaceAt(path: string, clock: Waits): Promise<Space | undefined> {
  const read = () => readSpace(path).catch(() => undefined)
  const reading = underWay.get(path) ?? read().finally(() => underWay.delete(path))
  underWay.set(path, reading)
  const found = await within(patienceMs, reading, clock)
  return found === 'late' ? undefined : found.value
}

async function readSpace(path: string): Promise<Space | undefined> {
  const { dev: device } = await stat(path)
  const found = await statfs(path)
  const { bavail, blocks, bsize } = found
  const isWithout = lacksInodes(found)
  const freeBytes = isWithout ? 0 : bavail * bsize
  return blocks === 0 ? undefined : { device, freeBytes, sizeBytes: blocks * bsize, lacksInodes: isWithout }
}

const fileSinks = (sinks: readonly SinkConfig[]) =>
  sinks.flatMap((sink) => (sink.type === 'file' ? [sink] : []))

/** Measures the disks of file sinks and of an embedded state. */
export async function measureSpace(
  { sinks, state }: Pick<Config, 'sinks' | 'state'>,
  metrics: Pick<Metrics, 'measure'>,
  clock: Waits,
): Promise<void> {
  const ofState = async (path: string) => {
    const space = await spaceAt(dirname(path), clock)
    const rows = space === undefined ? [] : [{ labels: {}, value: space.freeBytes }]
    metrics.measure('state_free_bytes', {}, rows)
  }
  const each = fileSinks(sinks).map(async ({ name, path }) => {
    const space = await spaceAt(path, clock)
    const rows = (value?: number) => (value === undefined ? [] : [{ labels: { sink: name }, value }])
    metrics.measure('sink_free_bytes', { sink: name }, rows(space?.freeBytes))
    metrics.measure('sink_size_bytes', { sink: name }, rows(space?.sizeBytes))
  })
  await Promise.all([...each, state.kind === 'sqlite' && ofState(state.path)])
}

/** Finds the disks of this host that are nearly full, of file sinks and of the state: one problem a disk. */
export function watchDisks({ sinks, state }: Config, clock: Waits): () => Promise<NoticedProblem[]> {
  const places = [
    ...fileSinks(sinks).map(({ name, path }) => ({ name, what: `file sink ${printable(name)}`, path })),
    ...(state.kind === 'sqlite' ? [{ name: '', what: 'the state', path: dirname(state.path) }] : []),
  ]
  return async () => {
    const each = places.map(async (place) => ({ ...place, space: await spaceAt(place.path, clock) }))
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
        text: space.lacksInodes
          ? `The disk of ${whose} takes no more files: no inodes are left (df -i).`
          : `The disk of ${whose} is nearly full: ${sizeText(space.freeBytes)} (${percent} %) are free.`,
        remedy:
          'What cannot be written waits, until the API no longer lists it. Free space, or enlarge the disk.',
      }
    })
  }
}

/** As the alert says. Of a small disk 1 GiB may be all there is: there a quarter counts. */
export function isNearlyFull({ freeBytes, sizeBytes }: Pick<Space, 'freeBytes' | 'sizeBytes'>): boolean {
  return freeBytes < Math.max(sizeBytes / 10, Math.min(2 ** 30, sizeBytes / 4))
}
