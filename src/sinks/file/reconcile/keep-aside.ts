import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { copyTo } from '../copy.ts'
import { lookAt, makeFolders, ownFolder, syncFolder } from '../directory.ts'
import { readBytes } from '../read/lines.ts'
import { copiesFolder, dropOldCopies } from './old-copies.ts'
import type { PartAtHand } from '../part-at-hand.ts'

/**
 * Copies what the plain part holds beyond a length, synced, before the caller cuts it. Normally that is one delivery of
 * a killed process, which is read again; with an older copy of the store it is everything that the copy lacks. Only the
 * longest copy per length is kept, so that a process that dies repeatedly leaves one.
 */
export async function keepAside({ writer, place, part, signal }: PartAtHand, from: number): Promise<void> {
  const { mode, dirMode } = writer.settings
  await dropOldCopies(writer.root, writer.clock.now())
  const folder = await makeFolders(writer.root, [ownFolder, copiesFolder], dirMode)
  const path = join(folder, `${place.folders.join('.')}.${part.name}.from-${from}`)
  const kept = await lookAt(path)
  if (kept !== undefined && kept.size >= part.plain!.size - from) return
  const unfinished = `${path}.unfinished`
  await copyTo({ path: unfinished, mode }, await readBytes(part.path, from), signal)
  await rename(unfinished, path)
  await syncFolder(folder)
}
