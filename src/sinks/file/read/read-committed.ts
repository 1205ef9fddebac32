import type { CommittedPart } from '../../../domain/event/delivery.ts'
import { messageOf } from '../../../domain/failure.ts'
import type { PartEnd } from '../../../domain/part-report.ts'
import type { Stream } from '../../../domain/stream.ts'
import { findFolder, findRoot } from '../directory.ts'
import { hasCode } from '../file-failure.ts'
import { readLines } from './lines.ts'
import { lookAtPart, type PartOnDisk } from './listing.ts'
import { placeOf } from '../part.ts'

/** Whole lines of a part, in order. */
export interface CommittedLines {
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
  const root = await findRoot(path)
  const folder = root === undefined ? undefined : await findFolder(root, placeOf(stream).folders)
  if (folder === undefined) return
  for (const committedPart of committed.toSorted((a, b) => (a.part < b.part ? -1 : 1))) {
    const file = fileOf(await lookAtPart(folder, committedPart.part))
    if (file !== undefined) yield* readPart(folder, file, committedPart)
  }
}

function fileOf(part: PartOnDisk | undefined): string | undefined {
  return part?.compressed?.path ?? (part?.plain === undefined ? undefined : part.path)
}

async function* readPart(
  folder: string,
  file: string,
  committedPart: CommittedPart,
): AsyncGenerator<CommittedLines | PartEnd> {
  const { part } = committedPart
  let [wholeLines, wholeBytes, isTorn] = [0, 0, false]
  let damage: string | undefined
  try {
    for await (const batch of readLines(file, 0, committedPart.bytes)) {
      if (batch.lines.length > 0) yield { part, from: wholeLines + 1, lines: batch.lines }
      wholeLines += batch.lines.length
      wholeBytes = batch.end
      isTorn = batch.isTorn === true
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
  const isCompressed = !file.endsWith(part)
  yield { part, wholeLines, wholeBytes, isTorn, isCompressed, ...(damage !== undefined && { damage }) }
}
