import { readdir, rename, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncFolder } from '../../disk.ts'
import type { CommittedLengths } from '../../ports/delivery.ts'
import type { FileSinkSettings } from './config.ts'
import { copiesFolder, copyTo, cutFile, findFolder, headBytes, headIn, lookAt, makeFolders } from './files.ts'
import { copyPrefix, numberOf, type PartOnDisk, readBytes } from './parts.ts'

/**
 * Where what is cut of a part is kept: normally one delivery of a killed process, which is read again; with an older copy
 * of the store everything that the copy lacks.
 */
export async function copyPath(
  root: string,
  { dirMode }: FileSinkSettings,
  place: string,
  name: string,
  from: number,
) {
  const folder = await makeFolders(root, copiesFolder, dirMode)
  return join(folder, `${copyPrefix(place)}${name}.from-${from}`)
}

/**
 * Copies what the plain part holds beyond a length, synced, before the caller cuts it. Only the longest copy per length
 * is kept.
 */
export async function copyEnd(
  { path, plain }: PartOnDisk,
  from: number,
  copy: string,
  settings: FileSinkSettings,
  signal: AbortSignal,
): Promise<void> {
  const kept = await lookAt(copy)
  if (kept !== undefined && kept.size >= plain!.size - from) return
  await copyTo(`${copy}.unfinished`, settings, readBytes(path, from), signal)
  await moveAside(`${copy}.unfinished`, copy)
}

/** The file stays the same one: no new part gets its inode, by which agents know files, as long as it is kept. */
export async function moveAside(path: string, copy: string): Promise<void> {
  await rename(path, copy)
  await syncFolder(dirname(copy))
}

/** Copies of the parts that the stream began since its last commit, and that were moved aside. */
async function copiesSince(place: string, folder: string | undefined, { committed }: CommittedLengths) {
  const since = Math.max(0, ...committed.map(({ part }) => numberOf(part)))
  const copies: { readonly path: string; readonly size: number }[] = []
  for (const name of folder === undefined ? [] : await readdir(folder)) {
    const [, part = ''] = name.split(copyPrefix(place))
    if (!part.endsWith('.from-0') || numberOf(part.replace('.from-0', '')) <= since) continue
    const path = join(folder!, name)
    copies.push({ path, size: (await lookAt(path))?.size ?? 0 })
  }
  return copies
}

/** Only the longest copy keeps more than its head, so that a process that dies again and again fills no disk. */
export async function keepLongest(place: string, folder: string, known: CommittedLengths): Promise<void> {
  const copies = await copiesSince(place, folder, known)
  const shorter = copies.sort((a, b) => b.size - a.size).slice(1)
  for (const { path, size } of shorter) if (size > headBytes) await cutFile(path, headBytes)
}

/** How the parts began that were moved aside since the last commit. */
export async function headsOf(root: string, place: string, known: CommittedLengths): Promise<string[]> {
  const copies = await copiesSince(place, await findFolder(root, copiesFolder), known)
  const heads: string[] = []
  for (const { path, size } of copies) if (size > 0) heads.push(await headIn(path))
  return heads
}

const keptMs = 14 * 86_400_000

/** Removes copies of what was cut two weeks ago; what was moved keeps the time of its last change. */
export async function dropOldCopies(root: string, nowMs: number): Promise<void> {
  const folder = await findFolder(root, copiesFolder)
  for (const name of folder === undefined ? [] : await readdir(folder)) {
    const path = join(folder!, name)
    const found = await lookAt(path)
    if (found?.isFile() === true && found.ctimeMs < nowMs - keptMs) await unlink(path).catch(() => undefined)
  }
}
