import { statfs } from 'node:fs/promises'
import type { SinkConfig } from '../config/schema.ts'
import type { Counting } from '../telemetry/metrics/metrics.ts'

/** Measures the disks of file sinks. None for a path that does not exist yet, or whose file system names no size. */
export async function measureSpace(
  sinks: readonly SinkConfig[],
  metrics: Pick<Counting, 'measure'>,
): Promise<void> {
  const files = sinks.flatMap((sink) => (sink.type === 'file' ? [sink] : []))
  const each = files.map(async ({ name, path }) => {
    const disk = await statfs(path).catch(() => undefined)
    const row = (blocks: number) => ({ labels: { sink: name }, value: blocks * disk!.bsize })
    const isKnown = disk !== undefined && disk.blocks > 0
    metrics.measure('sink_free_bytes', { sink: name }, isKnown ? [row(disk.bavail)] : [])
    metrics.measure('sink_size_bytes', { sink: name }, isKnown ? [row(disk.blocks)] : [])
  })
  await Promise.all(each)
}
