import { open } from 'node:fs/promises'
import type { Happening } from '../../domain/happening.ts'
import { createCompressor } from './compressor.ts'
import { openNotes } from './delivery-notes.ts'
import { makeFolders, makeRoot, ownFolder } from './directory.ts'
import { fileFailure } from './file-failure.ts'
import { holdIdentity, ownerOf, takeIdentity, type Owner } from './identity.ts'
import type { Lanes } from './lane.ts'
import { notesPath } from './settle-part.ts'
import type { FileSinkDeps, FileSinkSettings, Writer } from './settings.ts'

/** More conditions than this are not remembered; then some are said again. */
const maxSaid = 10_000

/** The writers of one sink, one a store: as a rule one, two when the store was replaced while the process runs. */
export interface Writers {
  of(store: string): Promise<Writer>
  /** Ends background work. */
  stop(): Promise<void>
  /** Gives the identities back, so that another process may cut and continue their parts. */
  release(): Promise<void>
}

export function createWriters(settings: FileSinkSettings, deps: FileSinkDeps, lanes: Lanes): Writers {
  const writers = new Map<string, Promise<Writer>>()
  const said = new Set<string>()
  const emit = (happening: Happening) => deps.telemetry.emit(happening)
  const emitOnce = (about: string, happening: Happening) => {
    if (said.has(about)) return
    if (said.size >= maxSaid) said.clear()
    said.add(about)
    emit(happening)
  }

  const make = async (store: string): Promise<Writer> => {
    const { root } = await makeRoot(settings.path, settings.dirMode)
    const folder = await makeFolders(root, [ownFolder], settings.dirMode)
    const owner = { store, sink: settings.name }
    const identity = await takeIdentity(folder, owner, settings.mode)
    try {
      const notes = await openNotes(notesPath(folder, identity.id), settings.mode)
      const hold = (id: string) =>
        id === identity.id ? { id, release: () => undefined } : holdIdentity(folder, id)
      const alone = <T>(place: { readonly relative: string }, job: () => Promise<T>) =>
        lanes.run(place.relative, job)
      const { format, clock, openFile = open } = deps
      const compressor = createCompressor(settings, { root, clock, openFile, hold, alone, emit })
      const known = { root, ownFolder: folder, store, identity, notes, compressor, hold }
      return {
        settings,
        format,
        clock,
        openFile,
        emit,
        emitOnce,
        ...known,
        ownerOf: rememberOwners(folder, identity.id, owner),
      }
    } catch (error) {
      identity.release()
      throw error
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
      for (const writer of await settled(writers)) await writer.compressor.close()
    },
    async release() {
      for (const writer of await settled(writers)) {
        await writer.notes.close().catch(() => undefined)
        writer.identity.release()
      }
      writers.clear()
    },
  }
}

async function settled(writers: ReadonlyMap<string, Promise<Writer>>): Promise<Writer[]> {
  const results = await Promise.allSettled(writers.values())
  return results.filter((result) => result.status === 'fulfilled').map((result) => result.value)
}

/** Owners never change, so they are asked once; a writer's own holds even if its file was deleted under it. */
function rememberOwners(folder: string, id: string, owner: Owner): (id: string) => Owner | undefined {
  const owners = new Map([[id, owner]])
  return (id) => {
    const known = owners.get(id) ?? ownerOf(folder, id)
    if (known !== undefined) owners.set(id, known)
    return known
  }
}
