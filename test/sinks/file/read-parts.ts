import { findFolder, findRoot, hasCode } from '../../../src/sinks/file/files.ts'
import { readLines } from '../../../src/sinks/file/read.ts'
import { listParts, lookAtPart, type PartOnDisk, placeOf } from '../../../src/sinks/file/parts.ts'

/**
 * All whole lines of a zone's day below a sink's path, part by part: of two forms the compressed one, without a torn
 * last line. Lines of a delivery in progress are among them.
 */
export async function* readParts(path: string, zone: number, day: string): AsyncGenerator<string> {
  const { folders } = placeOf({ zone, day })
  const root = await findRoot(path)
  const folder = root === undefined ? undefined : await findFolder(root, folders)
  if (folder === undefined) return
  for (const part of await listParts(folder)) yield* readPart(folder, part)
}

async function* readPart(folder: string, part: PartOnDisk): AsyncGenerator<string> {
  let begun = false
  try {
    for await (const line of linesOf(part)) {
      begun = true
      yield line
    }
  } catch (error) {
    // Compressed since it was listed.
    if (begun || !hasCode(error, 'ENOENT')) throw error
    const now = await lookAtPart(folder, part.name)
    if (now !== undefined) yield* linesOf(now)
  }
}

async function* linesOf(part: PartOnDisk): AsyncGenerator<string> {
  const file = part.compressed?.path ?? (part.plain === undefined ? undefined : part.path)
  if (file === undefined) return
  for await (const batch of readLines(file)) yield* batch.lines
}
