import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { type Duplex, pipeline } from 'node:stream'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import type { PartEnd } from '../../domain/audit-report.ts'
import type { CommittedPart } from '../../domain/event/delivery.ts'
import { messageOf } from '../../domain/failure.ts'
import type { Stream } from '../../domain/stream.ts'
import { fileFailure, findFolder, hasCode } from './files.ts'
import { listParts, lookAtPart, type PartOnDisk, placeOf } from './parts.ts'

/** Whole lines of a part, in order. */
interface CommittedLines {
  readonly part: string
  /** Number of the first of them, from 1. */
  readonly from: number
  readonly lines: readonly string[]
}

/**
 * Yields the lines of a stream's parts up to their committed lengths, compressed or not, in bounded pieces. Skips
 * missing parts, which `compareParts` reports. Takes no lock and changes nothing.
 */
export async function* readCommitted(
  path: string,
  stream: Pick<Stream, 'zone' | 'day'>,
  committed: readonly CommittedPart[],
): AsyncGenerator<CommittedLines | PartEnd> {
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

const lineBreak = 0x0a
const pieceBytes = 262_144
/** Longer than any page, so longer than any event: bytes without a line break over this length hold no lines. */
const mostLineBytes = 67_108_864

/** Yields whole lines up to the committed length in bounded pieces, and then how the part ended. */
async function* readPart(
  folder: string,
  file: string,
  committedPart: CommittedPart,
): AsyncGenerator<CommittedLines | PartEnd> {
  const { part, bytes: to } = committedPart
  let [offset, wholeLines, wholeBytes] = [0, 0, 0]
  let begun: Buffer[] = []
  let damage: string | undefined
  try {
    for await (const piece of readBytes(file)) {
      const bytes = piece.subarray(0, Math.max(0, to - offset))
      offset += piece.length
      const last = bytes.lastIndexOf(lineBreak)
      if (last !== -1) {
        const whole = Buffer.concat([...begun, bytes.subarray(0, last)])
        const lines = whole.toString('utf8').split('\n')
        begun = []
        yield { part, from: wholeLines + 1, lines }
        wholeLines += lines.length
        wholeBytes += whole.length + 1
      }
      if (last + 1 < bytes.length) begun.push(bytes.subarray(last + 1))
      if (offset >= to) break
      if (offset - wholeBytes > mostLineBytes) throw new Error('it has a line of more than 64 MiB')
    }
  } catch (error) {
    // The part was compressed since the listing.
    const now = hasCode(error, 'ENOENT') ? fileOf(await lookAtPart(folder, part)) : undefined
    if (now !== undefined && now !== file) {
      yield* readPart(folder, now, committedPart)
      return
    }
    damage = messageOf(error)
  }
  const end = { part, wholeLines, wholeBytes, isCompressed: !file.endsWith(part) }
  if (damage === undefined) yield { ...end, isTorn: begun.length > 0 }
  else yield { ...end, isTorn: false, damage }
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
): AsyncGenerator<CommittedLines | PartEnd> {
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
  const decoder = decoderOf(path)
  // The stream closes the file at its end, on an error, and when its reader stops.
  const source = handle.createReadStream({
    start: decoder === undefined ? from : 0,
    highWaterMark: pieceBytes,
  })
  // A source that fails destroys the decoder, so that its reader gets the error.
  yield* decoder === undefined ? source : pipeline(source, decoder, () => undefined)
}

function decoderOf(path: string): Duplex | undefined {
  if (path.endsWith('.gz')) return createGunzip({ chunkSize: pieceBytes })
  return path.endsWith('.zst') ? createZstdDecompress({ chunkSize: pieceBytes }) : undefined
}
