import { open } from 'node:fs/promises'
import type { InternalEvent } from '../../domain/internal-event.ts'
import type { Format } from '../../ports/delivery.ts'
import type { Clock, Telemetry } from '../../ports/process.ts'
import { Compressor } from './compress.ts'
import type { FileSinkSettings } from './config.ts'
import { dropOldCopies, fileFailure, type KeyedMutex, makeFolders, makeRoot, ownFolder } from './files.ts'
import { type HeldIdentity, holdIdentity, type Owner, ownerOf, takeIdentity } from './identity.ts'

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

/** The writers of one sink, one per store: normally one, two when the store was replaced while the process runs. */
export interface Writers {
  of(store: string): Promise<Writer>
  /** Stops background work. */
  stop(): Promise<void>
  /** Releases the identities, so that another process may cut and continue their parts. */
  release(): Promise<void>
}

/** Limit of remembered conditions; beyond it a condition may be reported again. */
const maxSaid = 10_000

export function createWriters(settings: FileSinkSettings, deps: FileSinkDeps, mutex: KeyedMutex): Writers {
  const writers = new Map<string, Promise<Writer>>()
  const emit = (internalEvent: InternalEvent) => deps.telemetry.emit(internalEvent)
  const emitOnce = onceEach(emit)

  const make = async (store: string): Promise<Writer> => {
    const { root } = await makeRoot(settings.path, settings.dirMode)
    const folder = await makeFolders(root, [ownFolder], settings.dirMode)
    await dropOldCopies(root, deps.clock.now())
    const owner = { store, sink: settings.name }
    const identity = await takeIdentity(folder, owner, settings.mode)
    const hold = (id: string) =>
      id === identity.id ? { id, release: () => undefined } : holdIdentity(folder, id)
    const alone: KeyedMutex['run'] = (place, job) => mutex.run(place, job)
    const { format, clock, openFile = open } = deps
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
      emitOnce,
      compressor: new Compressor(settings, { root, clock, openFile, hold, alone, emit }),
      ownerOf: rememberOwners(folder, identity.id, owner),
    }
  }

  return {
    of(store) {
      const known = writers.get(store)
      if (known !== undefined) return known
      const made = make(store).catch(async (error: unknown) => {
        writers.delete(store)
        throw await fileFailure(error, settings.path)
      })
      writers.set(store, made)
      return made
    },
    async stop() {
      for (const writer of await made(writers)) await writer.compressor.close()
    },
    async release() {
      for (const writer of await made(writers)) writer.identity.release()
      writers.clear()
    },
  }
}

async function made(writers: ReadonlyMap<string, Promise<Writer>>): Promise<Writer[]> {
  const results = await Promise.allSettled(writers.values())
  return results.filter((result) => result.status === 'fulfilled').map((result) => result.value)
}

function onceEach(emit: Writer['emit']): Writer['emitOnce'] {
  const said = new Set<string>()
  return (about, internalEvent) => {
    if (said.has(about)) return
    if (said.size >= maxSaid) said.clear()
    said.add(about)
    emit(internalEvent)
  }
}

/** Caches owners, which never change. The entry of this writer remains valid even if its file was deleted. */
function rememberOwners(folder: string, id: string, owner: Owner): Writer['ownerOf'] {
  const owners = new Map([[id, owner]])
  return (id) => {
    const known = owners.get(id) ?? ownerOf(folder, id)
    if (known !== undefined) owners.set(id, known)
    return known
  }
}
