import { readdir, rmdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { parseDay, type Day } from '../../domain/day.ts'
import type { StoredDay } from '../../domain/retention.ts'
import type { PartsOwner } from '../../ports/delivery.ts'
import { absent, findFolder, guarded, lookAt } from './files.ts'
import { type Owner, type Owners, ownersBelow } from './identity.ts'
import { parsePartName, placeOf } from './parts.ts'
import type { ZoneDay } from '../../domain/stream.ts'

/** The zones' days that have parts of this owner, without those of other stores and sinks. Throws Failure. */
export function storedDays(path: string, own: PartsOwner, isSized: boolean): Promise<StoredDay[]> {
  return guarded(path, async () => {
    const found: StoredDay[] = []
    for await (const { zone, day, parts } of daysBelow(path, await writersBelow(path, own)))
      found.push({ zone, day, bytes: isSized ? await sizeOf(parts) : 0 })
    return found
  })
}

/** The days that have parts of another store below a path; none where there is no such folder. Throws Failure. */
export function foreignDays(path: string, store: string): Promise<Day[]> {
  return guarded(path, async () => {
    const days = new Set<Day>()
    const others = [...(await ownersBelow(path))].filter(([, owner]) => owner.store !== store)
    for await (const { day } of daysBelow(path, new Map(others))) days.add(day)
    return [...days]
  })
}

/**
 * A sink of the same store that has written parts below a path, other than one of these names; undefined where there is
 * none. Throws Failure.
 */
export function otherSinkOn(path: string, own: PartsOwner): Promise<string | undefined> {
  return guarded(path, async () => {
    for await (const { parts } of daysBelow(path, await writersBelow(path, own, true)))
      return parts[0]!.owner.sink
    return undefined
  })
}

/**
 * Removes the owner's parts of a zone's day, and its folder if nothing else is in it. `mark` is called before the first
 * one; only parts that were there before go. Returns the bytes removed. Throws Failure, and what `mark` throws.
 */
export async function removeDay(
  path: string,
  place: ZoneDay,
  own: PartsOwner,
  mark: () => Promise<void>,
): Promise<number> {
  return guarded(`${path}/${placeOf(place)}`, async () => {
    const folder = await findFolder(path, placeOf(place))
    const parts = folder === undefined ? [] : await partsIn(folder, await writersBelow(path, own))
    if (parts.length === 0) return 0
    await mark()
    const bytes = await sizeOf(parts)
    for (const part of parts) await unlink(part.path).catch(absent)
    // It stays while it holds the parts of another store, or files of other programs.
    await rmdir(folder!).catch(() => undefined)
    return bytes
  })
}

interface PartFile {
  readonly path: string
  readonly owner: Owner
}

/** The writers of this owner, or those of other sinks of its store. */
async function writersBelow(path: string, { store, names }: PartsOwner, isOther = false): Promise<Owners> {
  const isChosen = (owner: Owner) => owner.store === store && names.includes(owner.sink) !== isOther
  return new Map([...(await ownersBelow(path))].filter(([, owner]) => isChosen(owner)))
}

/** Days with parts of these writers. Only in folders of zones and days: others, such as `lost+found`, may be closed. */
async function* daysBelow(path: string, writers: Owners) {
  if (writers.size === 0) return
  for (const [zoneFolder, zone] of await foldersIn(path, /^shield_zone=(0|[1-9]\d*)$/))
    for (const [dayFolder, text = ''] of await foldersIn(join(path, zoneFolder), /^day=(.*)$/)) {
      const day = parseDay(text)
      const parts = await partsIn(join(path, zoneFolder, dayFolder), writers)
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

/** The parts of these writers, plain and compressed. */
async function partsIn(folder: string, writers: Owners): Promise<PartFile[]> {
  const entries = (await readdir(folder, { withFileTypes: true }).catch(absent)) ?? []
  return entries.flatMap((entry) => {
    const owner = entry.isFile() ? writers.get(parsePartName(entry.name)?.writer ?? '') : undefined
    return owner === undefined ? [] : [{ path: join(folder, entry.name), owner }]
  })
}

async function sizeOf(parts: readonly PartFile[]): Promise<number> {
  let bytes = 0
  for (const { path } of parts) bytes += (await lookAt(path))?.size ?? 0
  return bytes
}
