import { readdir, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { copyTo } from './copy.ts'
import { lookAt, makeFolders, ownFolder, syncFolder } from './directory.ts'
import { readBytes } from './lines.ts'
import type { PartAtHand } from './part-at-hand.ts'

const folderName = 'aside'
const keptMs = 14 * 86_400_000

/**
 * Copies what the plain part holds beyond a length, durably, before it is cut. As a rule that is one delivery of a killed
 * process, which is read again; under an older copy of the store it is what that store has forgotten. Of cuts at one
 * length the longest copy is kept, so that a process that dies again and again leaves one.
 */
export async function keepAside({ writer, place, part, signal }: PartAtHand, from: number): Promise<void> {
  const { mode, dirMode } = writer.settings
  await dropOldCopies(writer.root, writer.clock.now())
  const folder = await makeFolders(writer.root, [ownFolder, folderName], dirMode)
  const path = join(folder, `${place.folders.join('.')}.${part.name}.from-${from}`)
  const kept = await lookAt(path)
  if (kept !== undefined && kept.size >= part.plain!.size - from) return
  const unfinished = `${path}.unfinished`
  await copyTo({ path: unfinished, mode }, await readBytes(part.path, from), signal)
  await rename(unfinished, path)
  await syncFolder(folder)
}

/** Removes copies that nobody asked for in two weeks. */
export async function dropOldCopies(root: string, nowMs: number): Promise<void> {
  const folder = join(root, ownFolder, folderName)
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name)
    const found = await lookAt(path)
    if (found?.isFile() === true && found.mtimeMs < nowMs - keptMs) await unlink(path).catch(() => undefined)
  }
}
