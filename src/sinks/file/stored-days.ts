import { readdir, rmdir, unlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { parseDay } from '../../domain/day.ts'
import type { StoredDay } from '../../domain/retention.ts'
import type { Stream } from '../../domain/stream.ts'
import type { PartsOwner } from '../../ports/delivery.ts'
import { fileFailure, findFolder, hasCode, lookAt, ownFolder } from './files.ts'
import { foldersIn, ownerOf } from './identity.ts'
import { parsePartName, placeOf } from './parts.ts'

/** The zones' days that have parts of this owner, without those of other stores and sinks. Throws Failure. */
export async function storedDays(path: string, own: PartsOwner, isSized: boolean): Promise<StoredDay[]> {
  try {
    const isOwn = await ownership(path, own)
    const found: StoredDay[] = []
    for (const zoneFolder of isOwn === undefined ? [] : await foldersIn(path, 'zone='))
      for (const folder of await foldersIn(zoneFolder, 'day=')) {
        const zone = Number(basename(zoneFolder).slice('zone='.length))
        const day = parseDay(basename(folder).slice('day='.length))
        if (day === undefined || !folder.endsWith(`/${placeOf({ zone, day })}`)) continue
        const parts = await partsIn(folder, isOwn!)
        if (parts.length > 0) found.push({ zone, day, bytes: isSized ? await sizeOf(parts) : 0 })
      }
    return found
  } catch (error) {
    throw await fileFailure(error, path)
  }
}

/**
 * Removes the owner's parts of a zone's day, and its folder if nothing else is in it. `mark` is called before the first
 * one; only parts that were there before go. Returns the bytes removed. Throws Failure, and what `mark` throws.
 */
export async function removeDay(
  path: string,
  place: Pick<Stream, 'zone' | 'day'>,
  own: PartsOwner,
  mark: () => Promise<void>,
): Promise<number> {
  const guarded = <Result>(work: Promise<Result>) =>
    work.catch(async (error: unknown) => {
      throw await fileFailure(error, `${path}/${placeOf(place)}`)
    })
  const isOwn = await ownership(path, own)
  const folder = await guarded(findFolder(path, placeOf(place)))
  if (folder === undefined || isOwn === undefined) return 0
  const parts = await guarded(partsIn(folder, isOwn))
  if (parts.length === 0) return 0
  await mark()
  const bytes = await guarded(sizeOf(parts))
  for (const part of parts) await guarded(unlink(part).catch(unlessGone))
  // It stays while it holds the parts of another store, or files of other programs.
  await rmdir(folder).catch(() => undefined)
  return bytes
}

/** Whether a writer is of this owner; undefined where nothing was written yet. */
async function ownership(
  path: string,
  { store, names }: PartsOwner,
): Promise<((writer: string) => boolean) | undefined> {
  const owners = await findFolder(path, ownFolder)
  if (owners === undefined) return undefined
  const known = new Map<string, boolean>()
  return (writer) => {
    const owner = known.has(writer) ? undefined : ownerOf(owners, writer)
    const isOwn = known.get(writer) ?? (owner?.store === store && names.includes(owner.sink))
    known.set(writer, isOwn)
    return isOwn
  }
}

/** Paths of the parts of such writers, plain and compressed. */
async function partsIn(folder: string, isOwn: (writer: string) => boolean): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    unlessGone(error)
    return []
  })
  return entries
    .filter((entry) => entry.isFile() && isOwn(parsePartName(entry.name)?.writer ?? ''))
    .map(({ name }) => join(folder, name))
}

async function sizeOf(parts: readonly string[]): Promise<number> {
  let bytes = 0
  for (const part of parts) bytes += (await lookAt(part))?.size ?? 0
  return bytes
}

function unlessGone(error: unknown): void {
  if (!hasCode(error, 'ENOENT')) throw error
}
