import { join } from 'node:path'
import type { PartReport } from '../../domain/audit-report.ts'
import type { CommittedPart } from '../../domain/event/delivery.ts'
import type { Stream } from '../../domain/stream.ts'
import type { CommittedLengths } from '../../ports/delivery.ts'
import { compressedLength, isLengthOf } from './compress.ts'
import { fileFailure, findFolder, findRoot, ownFolder } from './files.ts'
import { type Owner, ownerOf } from './identity.ts'
import { listParts, type PartName, type PartOnDisk, placeOf } from './parts.ts'

/**
 * Compares a stream's parts with their committed lengths. Returns the differences by name; parts whose committed
 * length the store has dropped are none. Changes nothing. Throws Failure.
 */
export async function compareParts(
  path: string,
  stream: Stream,
  known: CommittedLengths,
): Promise<PartReport[]> {
  try {
    return await compareAll(path, stream, known)
  } catch (error) {
    throw await fileFailure(error, path)
  }
}

async function compareAll(path: string, stream: Stream, known: CommittedLengths): Promise<PartReport[]> {
  const { folders } = placeOf(stream)
  const root = await findRoot(path)
  const folder = root === undefined ? undefined : await findFolder(root, folders)
  const owners = (id: string) => (root === undefined ? undefined : ownerOf(join(root, ownFolder), id))
  const parts = new Map(
    (folder === undefined ? [] : await listParts(folder)).map((part) => [part.name, part]),
  )
  const committed = new Map(known.committed.map((committedPart) => [committedPart.part, committedPart]))
  const differences: PartReport[] = []
  for (const name of [...new Set([...parts.keys(), ...committed.keys()])].sort()) {
    const committedPart = committed.get(name)
    const part = parts.get(name)
    if (part === undefined) {
      differences.push(missing(committedPart!, owners(committedPart!.writer) !== undefined))
      continue
    }
    if (committedPart === undefined && isDropped(part.parsed, known.knownSinceMs)) continue
    const why = whyForeign(part, { store: known.storeId, sink: stream.sink }, committedPart, owners)
    const difference =
      why === undefined ? await compare(part, committedPart) : foreign(part, committedPart, why)
    if (difference !== undefined) differences.push(difference)
  }
  return differences
}

/** Of a part without a committed length: whether the store had one, and has dropped it with the day's checkpoint. */
export function isDropped(parsed: PartName | undefined, knownSinceMs = -Infinity): boolean {
  return parsed !== undefined && parsed.openedAtMs < knownSinceMs
}

function missing(committedPart: CommittedPart, isWriterKnown: boolean): PartReport {
  const why = isWriterKnown ? 'the file is gone' : 'the file is gone, or it is on a disk of another host'
  const isElsewhere = isWriterKnown ? {} : { isElsewhere: true }
  return {
    part: committedPart.part,
    problem: 'missing',
    expectedBytes: committedPart.bytes,
    why,
    ...isElsewhere,
  }
}

function foreign(part: PartOnDisk, committedPart: CommittedPart | undefined, why: string): PartReport {
  const expected = committedPart === undefined ? {} : { expectedBytes: committedPart.bytes }
  const found = part.plain === undefined ? {} : { foundBytes: part.plain.size }
  return { part: part.name, problem: 'foreign', ...expected, ...found, why }
}

async function compare(
  part: PartOnDisk,
  committedPart: CommittedPart | undefined,
): Promise<PartReport | undefined> {
  // Temporary files of an unfinished compression hold no lines of their own.
  if (part.plain === undefined && part.compressed === undefined)
    return committedPart === undefined ? undefined : missing(committedPart, true)
  const bytes =
    part.compressed === undefined ? part.plain?.size : await compressedLength(part.compressed.path)
  const found = bytes === undefined ? {} : { foundBytes: bytes }
  // A writer that ended before its first line leaves an empty part: not a difference.
  if (committedPart === undefined && bytes === 0) return undefined
  if (committedPart === undefined)
    return { part: part.name, problem: 'unknown', ...found, why: 'the store has no record of it' }
  const isSame =
    part.compressed === undefined
      ? bytes === committedPart.bytes
      : bytes === undefined || isLengthOf(bytes, part.compressed.path, committedPart.bytes)
  if (isSame) return undefined
  const expected = { part: part.name, expectedBytes: committedPart.bytes, ...found }
  if (bytes! < committedPart.bytes) return { ...expected, problem: 'short', why: 'committed lines are gone' }
  return { ...expected, problem: 'longer', why: 'it has lines after its committed length' }
}

/**
 * Why a part must not be changed; undefined when it belongs to this stream. A part with a committed length belongs to
 * it even under another sink name: `state rename-sink` moved the checkpoints.
 */
export function whyForeign(
  part: PartOnDisk,
  own: Owner,
  committedPart: CommittedPart | undefined,
  ownerOf: (writer: string) => Owner | undefined,
): string | undefined {
  if (part.irregular) return 'not a regular file'
  if (part.parsed === undefined) return 'its name is not the name of a part'
  const owner = ownerOf(part.parsed.writer)
  if (owner === undefined) return `its writer ${part.parsed.writer} is unknown`
  if (owner.store !== own.store) return 'written under another store: the state was lost or replaced'
  if (owner.sink !== own.sink && committedPart === undefined) return `written by sink ${owner.sink}`
  return undefined
}
