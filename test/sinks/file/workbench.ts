import { mkdtemp, open as openFile, readdir, readlink, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../../src/clock.ts'
import type { InternalEvent } from '../../../src/domain/internal-event.ts'
import type { TransactionalSink } from '../../../src/ports/delivery.ts'
import { contractFormat, idOf, readParts, streamOf } from './samples.ts'
import type { FileSinkSettings } from '../../../src/sinks/file/config.ts'
import type { FileSinkDeps } from '../../../src/sinks/file/writer.ts'
import { createFileSink } from '../../../src/sinks/file/sink.ts'
import { named } from '../internal-events.ts'

export type Workbench = Awaited<ReturnType<typeof createWorkbench>>

export async function createWorkbench(parent = tmpdir()) {
  const root = await mkdtemp(join(parent, 'shieldlog-file-'))
  const path = join(root, 'events')
  const happened: InternalEvent[] = []
  const sinks: TransactionalSink[] = []
  const stream = (zone: number, daysAgo: number) => streamOf({ name: 'archive' }, zone, daysAgo)
  const folder = (zone = 101, daysAgo = 0) =>
    join(path, `shield_zone=${zone}`, `day=${stream(zone, daysAgo).day}`)
  const closeAll = () => Promise.all(sinks.map((sink) => sink.close()))
  return {
    path,
    happened,
    /** Another process, as far as the sink can tell: an instance of its own on the same path. */
    sink(settings: Partial<FileSinkSettings> = {}, deps: Partial<FileSinkDeps> = {}) {
      const telemetry = { emit: (internalEvent: InternalEvent) => void happened.push(internalEvent) }
      const sink = createFileSink(
        {
          name: 'archive',
          path,
          mode: 0o600,
          dirMode: 0o700,
          rotate: { maxBytes: 268_435_456, maxAgeMinutes: 1440 },
          retention: { days: null, maxBytes: null },
          compress: 'none',
          ...settings,
        },
        { format: contractFormat, clock: systemClock, telemetry, openFile, ...deps },
      )
      sinks.push(sink)
      return sink
    },
    /** Ids in all parts of the zone's day, in reading order. */
    async ids(zone = 101, daysAgo = 0) {
      const ids: string[] = []
      for await (const line of readParts(path, zone, stream(zone, daysAgo).day)) ids.push(idOf(line))
      return ids
    },
    folder,
    async files(zone = 101, daysAgo = 0) {
      return (await readdir(folder(zone, daysAgo))).sort()
    },
    named: <Name extends InternalEvent['name']>(name: Name) => named(happened, name),
    /** How many files of zones this process has open. */
    async openFiles() {
      const links = await readdir('/proc/self/fd')
      const targets = await Promise.all(links.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')))
      return targets.filter((target) => target.includes(`${path}/shield_zone=`)).length
    },
    closeAll,
    async dispose() {
      await closeAll()
      await rm(root, { recursive: true, force: true })
    },
  }
}
