import { basename, dirname } from 'node:path'
import type { PartEnd, PartLines, PartReport } from '../../domain/audit-report.ts'
import type { CommittedPart } from '../../domain/event/delivery.ts'
import type { Stream } from '../../domain/stream.ts'
import type { CommittedLengths } from '../../ports/delivery.ts'
import { linesIn } from '../part-lines.ts'
import { findFolder, guarded, hasCode } from './files.ts'
import { type Owners, ownersBelow } from './identity.ts'
import {
  compressedLength,
  isLengthOf,
  listParts,
  lookAtPart,
  parsePartName,
  type PartOnDisk,
  placeOf,
  readBytes,
} from './parts.ts'

/** A part, as the store knows it and as it is on the disk: one of both at least. */
export interface PartState {
  readonly name: string
  readonly file: PartOnDisk | undefined
  /** Absent for a part without a committed length. */
  readonly committed: CommittedPart | undefined
  /** How both differ; absent where they do not, and for a part that its writer left before its first line. */
  readonly report: PartReport | undefined
  /** It has no committed length, because the store has dropped it with the day's checkpoint. */
  readonly isDropped: boolean
}

/** Whose parts are the sink's own, and whose the others. */
export interface Ownership {
  readonly sink: string
  readonly byId: Owners
}

/**
 * Compares a stream's parts with their committed lengths. Returns the differences by name; parts whose committed
 * length the store has dropped are none. Changes nothing. Throws Failure.
 */
export async function compareParts(
  path: string,
  stream: Stream,
  known: CommittedLengths,
): Promise<PartReport[]> {
  const states = await inspectStream(path, stream, known)
  return states.flatMap(({ report, isDropped }) => (report === undefined || isDropped ? [] : [report]))
}

/** The parts of a stream, without a writer. Throws Failure. */
export function inspectStream(path: string, stream: Stream, known: CommittedLengths): Promise<PartState[]> {
  const inspect = async () => {
    const owners = { sink: stream.sink, byId: await ownersBelow(path) }
    return await inspectParts(await findFolder(path, placeOf(stream)), known, owners)
  }
  return guarded(path, inspect())
}

/** The parts of a stream, by name. */
export async function inspectParts(
  folder: string | undefined,
  known: CommittedLengths,
  owners: Ownership,
): Promise<PartState[]> {
  const found = folder === undefined ? [] : await listParts(folder)
  const files = new Map(found.map((file) => [file.name, file]))
  const lengths = new Map(known.committed.map((committed) => [committed.part, committed]))
  const states: PartState[] = []
  for (const name of [...new Set([...files.keys(), ...lengths.keys()])].sort()) {
    // A listing may miss a part that another process was compressing.
    const file = files.get(name) ?? (folder === undefined ? undefined : await lookAtPart(folder, name))
    states.push(await inspectPart({ name, file, committed: lengths.get(name) }, known, owners))
  }
  return states
}

export async function inspectPart(
  { name, file, committed }: Pick<PartState, 'name' | 'file' | 'committed'>,
  { storeId, knownSinceMs = -Infinity }: CommittedLengths,
  owners: Ownership,
): Promise<PartState> {
  const report =
    file === undefined
      ? committed && missing(committed, owners)
      : await reportOf(file, committed, whyForeign(file, committed, storeId, owners))
  const openedAtMs = parsePartName(name)?.openedAtMs ?? Infinity
  return { name, file, committed, report, isDropped: committed === undefined && openedAtMs < knownSinceMs }
}

function missing({ part, writer, bytes }: CommittedPart, { byId }: Ownership): PartReport {
  const report = { part, problem: 'missing', expectedBytes: bytes } as const
  if (byId.has(writer)) return { ...report, why: 'the file is gone' }
  return { ...report, why: 'the file is gone, or it is on a disk of another host', isElsewhere: true }
}

async function reportOf(
  file: PartOnDisk,
  committed: CommittedPart | undefined,
  foreign: string | undefined,
): Promise<PartReport | undefined> {
  const report = (problem: PartReport['problem'], why: string, found: number | undefined): PartReport => ({
    part: file.name,
    problem,
    ...(committed !== undefined && { expectedBytes: committed.bytes }),
    ...(found !== undefined && { foundBytes: found }),
    why,
  })
  if (foreign !== undefined) return report('foreign', foreign, file.plain?.size)
  const length = file.compressed === undefined ? file.plain!.size : await compressedLength(file.compressed)
  if (committed === undefined)
    return length === 0 ? undefined : report('unknown', 'the store has no record of it', length)
  if (length === undefined || isLengthOf(length, file.compressed ?? '', committed.bytes)) return undefined
  if (length < committed.bytes) return report('short', 'committed lines are gone', length)
  return report('longer', 'it has lines after its committed length', length)
}

/**
 * Why a part must not be changed; undefined when it belongs to this stream. A part with a committed length belongs to
 * it even under another sink name: `state rename-sink` moved the checkpoints.
 */
function whyForeign(
  file: PartOnDisk,
  committed: CommittedPart | undefined,
  storeId: string,
  { sink, byId }: Ownership,
): string | undefined {
  if (file.irregular) return 'not a regular file'
  const parsed = parsePartName(file.name)
  if (parsed === undefined) return 'its name is not the name of a part'
  const owner = byId.get(parsed.writer)
  if (owner === undefined) return `its writer ${parsed.writer} is unknown`
  if (owner.store !== storeId) return 'written under another store: the state was lost or replaced'
  if (owner.sink !== sink && committed === undefined) return `written by sink ${owner.sink}`
  return undefined
}

type Place = Pick<Stream, 'zone' | 'day'>
type Pieces = AsyncGenerator<PartLines | PartEnd>

/**
 * Yields the lines of a stream's parts up to their committed lengths, compressed or not, in bounded pieces. Skips
 * missing parts, which `compareParts` reports. Takes no lock and changes nothing.
 */
export async function* readCommitted(
  path: string,
  place: Place,
  committed: readonly Pick<CommittedPart, 'part' | 'bytes'>[],
): Pieces {
  const folder = await findFolder(path, placeOf(place))
  if (folder === undefined) return
  for (const { part, bytes } of committed.toSorted((a, b) => (a.part < b.part ? -1 : 1))) {
    const file = fileOf(await lookAtPart(folder, part))
    if (file !== undefined) yield* readPart(folder, file, part, bytes)
  }
}

function fileOf(part: PartOnDisk | undefined): string | undefined {
  return part?.compressed ?? (part?.plain === undefined ? undefined : part.path)
}

async function* readPart(folder: string, file: string, part: string, bytes = Infinity): Pieces {
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
export async function* readArchive(path: string, place: Place): Pieces {
  const name = basename(path)
  if (copyName.test(name)) {
    if (name.startsWith(copyPrefix(placeOf(place)))) yield* readPart(dirname(path), path, name)
    return
  }
  const list = async () => {
    const folder = await findFolder(path, placeOf(place))
    return folder === undefined ? [] : await listParts(folder)
  }
  const parts = await guarded(`${path}/${placeOf(place)}`, list())
  const whole = parts.map((part) => ({ part: part.name, bytes: Infinity }))
  yield* readCommitted(path, place, whole)
}

/** Of a copy that `reconcile` keeps of what it cuts. */
const copyName = /^zone=\d+\.day=\d{4}-\d\d-\d\d\..+\.from-\d+$/

/** How the names of the copies of a place begin. */
export function copyPrefix(place: string): string {
  return `${place.replace('/', '.')}.`
}
