import type { PartEnd } from '../../../domain/part-report.ts'
import type { Stream } from '../../../domain/stream.ts'
import { findFolder, findRoot } from '../directory.ts'
import { fileFailure } from '../file-failure.ts'
import { listParts, type PartOnDisk } from './listing.ts'
import { placeOf } from '../part.ts'
import { readCommitted, type CommittedLines } from './read-committed.ts'

/**
 * Yields all whole lines of a zone's day below a sink's path, by any writer, part by part in bounded pieces, and after
 * each part how it ended. Reads the compressed file where both exist. Yields nothing where the day has no folder. Takes
 * no lock and changes nothing, so lines of a delivery in progress may be included. Throws Failure.
 */
export async function* readArchive(
  path: string,
  stream: Pick<Stream, 'zone' | 'day'>,
): AsyncGenerator<CommittedLines | PartEnd> {
  const parts = await partsOf(path, stream).catch(async (error: unknown) => {
    throw await fileFailure(error, `${path}/${placeOf(stream).relative}`)
  })
  const whole = parts.map(({ name }) => ({ writer: '', part: name, bytes: Infinity, lines: Infinity }))
  yield* readCommitted(path, stream, whole)
}

async function partsOf(path: string, stream: Pick<Stream, 'zone' | 'day'>): Promise<PartOnDisk[]> {
  const root = await findRoot(path)
  const folder = root === undefined ? undefined : await findFolder(root, placeOf(stream).folders)
  return folder === undefined ? [] : listParts(folder)
}
