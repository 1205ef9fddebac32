import { open, unlink } from 'node:fs/promises'
import type { InternalEvent } from '../../domain/internal-event.ts'
import type { Format } from '../../ports/delivery.ts'
import type { Clock, Telemetry } from '../../ports/process.ts'
import { Compressor, unfinishedPath } from './compress.ts'
import type { FileSinkSettings } from './config.ts'
import { dropOldCopies, type KeyedMutex, makeFolders, makeRoot, ownFolder } from './files.ts'
import { type HeldIdentity, holdIdentity, type Owner, ownerOf, takeIdentity } from './identity.ts'
import { suffixes } from './parts.ts'

export interface FileSinkDeps {
  readonly format: Format
  readonly clock: Clock
  readonly telemetry: Telemetry
  /** Opens the parts for writing; tests replace it to simulate disks that fail or hang. */
  readonly openFile?: typeof open
}

/** One store's writer on one path: created for the first stream that is opened, released when the sink closes. */
export interface Writer {
  readonly settings: FileSinkSettings
  readonly format: Format
  readonly clock: Clock
  readonly openFile: typeof open
  readonly root: string
  readonly owner: Owner
  readonly identity: HeldIdentity
  readonly compressor: Compressor
  /** Locks a writer's parts until released; undefined while another process holds that writer. */
  hold(id: string): HeldIdentity | undefined
  ownerOf(id: string): Owner | undefined
  emit(internalEvent: InternalEvent): void
  /** Reports a lasting condition once in the life of the process. */
  emitOnce(about: string, internalEvent: InternalEvent): void
}

/** Takes an identity for the parts of a store. */
export async function createWriter(
  store: string,
  settings: FileSinkSettings,
  { format, clock, telemetry, openFile = open }: FileSinkDeps,
  mutex: KeyedMutex,
): Promise<Writer> {
  const { root } = await makeRoot(settings.path, settings.dirMode)
  const folder = await makeFolders(root, ownFolder, settings.dirMode)
  await dropOldCopies(root, clock.now())
  const owner = { store, sink: settings.name }
  const identity = await takeIdentity(folder, owner, settings.mode)
  for (const suffix of Object.values(suffixes))
    await unlink(unfinishedPath(root, identity.id, suffix)).catch(() => undefined)
  const hold = (id: string) =>
    id === identity.id ? { id, release: () => undefined } : holdIdentity(folder, id)
  const emit = (internalEvent: InternalEvent) => telemetry.emit(internalEvent)
  const deps = { root, clock, openFile, writer: identity.id, hold, mutex, emit }
  // Owners never change. The entry of this writer remains valid even if its file was deleted.
  const owners = new Map([[identity.id, owner]])
  return {
    settings,
    format,
    clock,
    openFile,
    root,
    owner,
    identity,
    hold,
    emit,
    emitOnce: onceEach(emit),
    compressor: new Compressor(settings, deps),
    ownerOf(id) {
      const known = owners.get(id) ?? ownerOf(folder, id)
      if (known !== undefined) owners.set(id, known)
      return known
    },
  }
}

/** Limit of remembered conditions; beyond it a condition may be reported again. */
const maxSaid = 10_000

function onceEach(emit: Writer['emit']): Writer['emitOnce'] {
  const said = new Set<string>()
  return (about, internalEvent) => {
    if (said.has(about)) return
    if (said.size >= maxSaid) said.clear()
    said.add(about)
    emit(internalEvent)
  }
}
