import { open } from 'node:fs/promises'
import type { InternalEvent } from '../../domain/internal-event.ts'
import type { SinkDeps } from '../deps.ts'
import { createCompression } from './compress.ts'
import type { FileSinkSettings } from './config.ts'
import { dropOldCopies } from './copies.ts'
import { type Jobs, makeFolders, makeRoot, ownFolder } from './files.ts'
import { holdIdentity, type Owners, ownersBelow, takeIdentity } from './identity.ts'

export interface FileSinkDeps extends Pick<SinkDeps, 'format' | 'clock' | 'telemetry'> {
  /** Opens the parts for writing; tests replace it to simulate disks that fail or hang. */
  readonly openFile?: typeof open
}

/** A process that runs for years forgets the days of which it has opened no stream for longest. */
const mostSettled = 20_000

export type Writer = Awaited<ReturnType<typeof openWriter>>

/**
 * One store's writer on one path: created for the first stream that is opened, released when the sink closes. It has the
 * identity that names its parts. `jobs` orders those on the files of a stream, by place.
 */
export async function openWriter(
  store: string,
  settings: FileSinkSettings,
  { openFile = open, ...deps }: FileSinkDeps,
  jobs: Jobs,
) {
  const { name: sink, path, mode, dirMode } = settings
  const { clock, telemetry } = deps
  const { root } = await makeRoot(path, dirMode)
  await makeFolders(root, ownFolder, dirMode)
  await dropOldCopies(root, clock.now())
  const identity = await takeIdentity(root, { store, sink }, mode)
  const said = new Set<string>()
  /** Up to which number the parts of a place are settled: found as they should be, and not changed any more. */
  const settled = new Map<string, number>()

  const emit = (internalEvent: InternalEvent) => telemetry.emit(internalEvent)

  /** Locks a writer's parts until disposed; undefined while another process holds that writer, or without its file. */
  async function hold(id: string): Promise<Disposable | undefined> {
    if (id === identity.id) return { [Symbol.dispose]: () => undefined }
    const owner = (await ownersBelow(root)).get(id)
    return owner && holdIdentity(root, owner)
  }

  const compression = createCompression({ settings, root, identity, hold, emit, clock, openFile, jobs })

  return {
    settings,
    deps: { ...deps, openFile },
    root,
    identity,
    /** This one remains known even if its file was deleted. */
    async owners(): Promise<Owners> {
      return new Map([...(await ownersBelow(root)), [identity.id, identity]])
    },
    hold,
    emit,
    /** Reports a lasting condition, here of what `about` names, once in the life of the process. */
    emitOnce(about: string, internalEvent: InternalEvent): void {
      const condition = `${internalEvent.name} ${about}`
      if (!said.has(condition)) emit(internalEvent)
      said.add(condition)
    },
    settled,
    settle(place: string, to: number): void {
      settled.delete(place)
      if (to > 0) settled.set(place, to)
      if (settled.size > mostSettled) settled.delete(settled.keys().next().value!)
    },
    compress: compression.add,
    async close(): Promise<void> {
      await compression.close()
      identity[Symbol.dispose]()
    },
  }
}
