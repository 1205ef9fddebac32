import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import type { PartEnd, PartLines } from '../../domain/audit-report.ts'
import type { CommittedPart } from '../../domain/event/delivery.ts'
import type { Stream } from '../../domain/stream.ts'
import { decoded, isCompressed, linesIn, pieceBytes } from '../part-lines.ts'
import { fileFailure, findFolder, hasCode } from './files.ts'
import { listParts, lookAtPart, type PartOnDisk, placeOf } from './parts.ts'

/**
 * Yields the lines of a stream's parts up to their committed lengths, compressed or not, in bounded pieces. Skips
 * missing parts, which `compareParts` reports. Takes no lock and changes nothing.
 */
export async function* readCommitted(
  path: string,
  stream: Pick<Stream, 'zone' | 'day'>,
  committed: readonly CommittedPart[],
): AsyncGenerator<PartLines | PartEnd> {
  const folder = await findFolder(path, placeOf(stream))
  if (folder === undefined) return
  for (const committedPart of committed.toSorted((a, b) => (a.part < b.part ? -1 : 1))) {
    const file = fileOf(await lookAtPart(folder, committedPart.part))
    if (file !== undefined) yield* readPart(folder, file, committedPart)
  }
}

function fileOf(part: PartOnDisk | undefined): string | undefined {
  return part?.compressed ?? (part?.plain === undefined ? undefined : part.path)
}

async function* readPart(
  folder: string,
  file: string,
  { part, bytes }: CommittedPart,
): AsyncGenerator<PartLines | PartEnd> {
  let read = file
  async function* pieces() {
    try {
      yield* readBytes(file)
    } catch (error) {
      // The part was compressed since the listing.
      const now = hasCode(error, 'ENOENT') ? fileOf(await lookAtPart(folder, part)) : undefined
      if (now === undefined || now === file) throw error
      read = now
      yield* readBytes(now)
    }
  }
  for await (const piece of linesIn(part, pieces(), bytes))
    yield 'lines' in piece ? piece : { ...piece, isCompressed: !read.endsWith(part) }
}

/**
 * Yields all whole lines of a zone's day below a sink's path, by any writer, part by part in bounded pieces, and after
 * each part how it ended. Reads the compressed file where both exist. Yields nothing where the day has no folder. Takes
 * no lock and changes nothing, so lines of a delivery in progress may be included. Of a copy of cut lines in place of a
 * sink's path it yields those of the zone's day that its name tells. Throws Failure.
 */
export async function* readArchive(
  path: string,
  stream: Pick<Stream, 'zone' | 'day'>,
): AsyncGenerator<PartLines | PartEnd> {
  const part = basename(path)
  if (copyName.test(part)) {
    const isOfDay = part.startsWith(copyPrefix(placeOf(stream)))
    if (isOfDay) yield* readPart(dirname(path), path, { writer: '', part, bytes: Infinity, lines: Infinity })
    return
  }
  const parts = await partsOf(path, placeOf(stream)).catch(async (error: unknown) => {
    throw await fileFailure(error, `${path}/${placeOf(stream)}`)
  })
  const whole = parts.map(({ name }) => ({ writer: '', part: name, bytes: Infinity, lines: Infinity }))
  yield* readCommitted(path, stream, whole)
}

/** Of a copy that `reconcile` keeps of what it cuts. */
const copyName = /^zone=\d+\.day=\d{4}-\d\d-\d\d\..+\.from-\d+$/

/** How the names of the copies of a place begin. */
export function copyPrefix(place: string): string {
  return `${place.replace('/', '.')}.`
}

async function partsOf(path: string, place: string): Promise<PartOnDisk[]> {
  const folder = await findFolder(path, place)
  return folder === undefined ? [] : listParts(folder)
}

/** The uncompressed bytes; `from` applies to a plain part only. Follows no link and never blocks on a pipe. */
export async function* readBytes(path: string, from = 0): AsyncGenerator<Buffer> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  // The stream closes the file at its end, on an error, and when its reader stops.
  const source = handle.createReadStream({
    start: isCompressed(path) ? 0 : from,
    highWaterMark: pieceBytes,
  })
  yield* decoded(path, source)
}
