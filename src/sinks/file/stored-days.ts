import { readdir, rmdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { parseDay } from '../../domain/day.ts'
import type { StoredDay } from '../../domain/retention.ts'
import type { Stream } from '../../domain/stream.ts'
import type { PartsOwner } from '../../ports/delivery.ts'
import { absent, findFolder, guarded, lookAt } from './files.ts'
import { type Owner, type Owners, ownersBelow } from './identity.ts'
import { parsePartName, placeOf } from './parts.ts'

type IsChosen = (owner: Owner) => boolean

function isOf({ store, names }: PartsOwner): IsChosen {
  return (owner) => owner.store === store && names.includes(owner.sink)
}

/** The zones' days that have parts of this owner, without those of other stores and sinks. Throws Failure. */
export function storedDays(path: string, own: PartsOwner, isSized: boolean): Promise<StoredDay[]> {
  const list = async () => {
    const found: StoredDay[] = []
    for await (const { zone, day, parts } of daysBelow(path, isOf(own)))
      found.push({ zone, day, bytes: isSized ? await sizeOf(parts) : 0 })
    return found
  }
  return guarded(path, list())
}

/**
 * A sink of the same store that has written parts below a path, other than one of these names; undefined where there is
 * none. Throws Failure.
 */
export function otherSinkOn(path: string, { store, names }: PartsOwner): Promise<string | undefined> {
  const find = async () => {
    const isOther: IsChosen = (owner) => owner.store === store && !names.includes(owner.sink)
    for await (const { parts } of daysBelow(path, isOther)) return parts[0]!.owner.sink
    return undefined
  }
  return guarded(path, find())
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
  const remove = async () => {
    const folder = await findFolder(path, placeOf(place))
    const parts = folder === undefined ? [] : await partsIn(folder, await ownersBelow(path), isOf(own))
    if (parts.length === 0) return 0
    await mark()
    const bytes = await sizeOf(parts)
    for (const part of parts) await unlink(part.path).catch(absent)
    // It stays while it holds the parts of another store, or files of other programs.
    await rmdir(folder!).catch(() => undefined)
    return bytes
  }
  return guarded(`${path}/${placeOf(place)}`, remove())
}

interface PartFile {
  readonly path: string
  readonly owner: Owner
}

/** Days with parts of such writers. Only in folders of zones and days: others, such as `lost+found`, may be closed. */
async function* daysBelow(path: string, isChosen: IsChosen) {
  const owners = await ownersBelow(path)
  if (![...owners.values()].some(isChosen)) return
  for (const [zoneFolder, zone] of await foldersIn(path, /^zone=(0|[1-9]\d*)$/))
    for (const [dayFolder, text = ''] of await foldersIn(join(path, zoneFolder), /^day=(.*)$/)) {
      const day = parseDay(text)
      const parts = await partsIn(join(path, zoneFolder, dayFolder), owners, isChosen)
      if (day !== undefined && parts.length > 0) yield { zone: Number(zone), day, parts }
    }
}

/** The folders with such names, without links. */
async function foldersIn(path: string, pattern: RegExp): Promise<RegExpExecArray[]> {
  const entries = await readdir(path, { withFileTypes: true })
  return entries.flatMap((entry) => {
    const match = entry.isDirectory() ? pattern.exec(entry.name) : null
    return match === null ? [] : [match]
  })
}

/** The parts of such writers, plain and compressed. */
async function partsIn(folder: string, owners: Owners, isChosen: IsChosen): Promise<PartFile[]> {
  const entries = (await readdir(folder, { withFileTypes: true }).catch(absent)) ?? []
  return entries.flatMap((entry) => {
    const owner = entry.isFile() ? owners.get(parsePartName(entry.name)?.writer ?? '') : undefined
    return owner !== undefined && isChosen(owner) ? [{ path: join(folder, entry.name), owner }] : []
  })
}

async function sizeOf(parts: readonly PartFile[]): Promise<number> {
  let bytes = 0
  for (const { path } of parts) bytes += (await lookAt(path))?.size ?? 0
  return bytes
}
