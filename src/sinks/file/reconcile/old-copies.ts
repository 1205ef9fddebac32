import { readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { findFolder, lookAt, ownFolder } from '../directory.ts'

/** Below the sink's own folder: copies of what was cut. */
export const copiesFolder = 'aside'
const keptMs = 14 * 86_400_000

/** Removes copies older than two weeks. */
export async function dropOldCopies(root: string, nowMs: number): Promise<void> {
  const folder = await findFolder(root, [ownFolder, copiesFolder])
  if (folder === undefined) return
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const found = await lookAt(path)
    if (found?.isFile() === true && found.mtimeMs < nowMs - keptMs) await unlink(path).catch(() => undefined)
  }
}
