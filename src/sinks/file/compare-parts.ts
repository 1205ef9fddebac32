import type { PartReport } from '../../domain/audit-report.ts'
import type { CommittedPart } from '../../domain/event/delivery.ts'
import type { Stream } from '../../domain/stream.ts'
import type { CommittedLengths } from '../../ports/delivery.ts'
import { fileFailure, findFolder, ownFolder } from './files.ts'
import { type Owner, ownerOf } from './identity.ts'
import {
  compressedLength,
  isLengthOf,
  listParts,
  lookAtPart,
  parsePartName,
  type PartOnDisk,
  placeOf,
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

export interface Owners {
  readonly own: Owner
  ownerOf(writer: string): Owner | undefined
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
  const states = await statesOf(path, stream, known)
  return states.flatMap(({ report, isDropped }) => (report === undefined || isDropped ? [] : [report]))
}

/** Whether a stream has parts with lines whose committed length the store has dropped. Throws Failure. */
export async function hasDroppedParts(
  path: string,
  stream: Stream,
  known: CommittedLengths,
): Promise<boolean> {
  const states = await statesOf(path, stream, known)
  return states.some(({ report, isDropped }) => isDropped && report?.problem === 'unknown')
}

async function statesOf(path: string, stream: Stream, known: CommittedLengths): Promise<PartState[]> {
  try {
    const owners = await findFolder(path, ownFolder)
    const own = { store: known.storeId, sink: stream.sink }
    return await inspectParts(await findFolder(path, placeOf(stream)), known, {
      own,
      ownerOf: (writer) => (owners === undefined ? undefined : ownerOf(owners, writer)),
    })
  } catch (error) {
    throw await fileFailure(error, path)
  }
}

/** The parts of a stream, by name. */
export async function inspectParts(
  folder: string | undefined,
  known: CommittedLengths,
  owners: Owners,
): Promise<PartState[]> {
  const files = new Map(
    (folder === undefined ? [] : await listParts(folder)).map((file) => [file.name, file]),
  )
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
  { knownSinceMs = -Infinity }: CommittedLengths,
  owners: Owners,
): Promise<PartState> {
  const report =
    file === undefined ? committed && missing(committed, owners) : await reportOf(file, committed, owners)
  const openedAtMs = parsePartName(name)?.openedAtMs ?? Infinity
  return { name, file, committed, report, isDropped: committed === undefined && openedAtMs < knownSinceMs }
}

function missing({ part, writer, bytes }: CommittedPart, owners: Owners): PartReport {
  const report = { part, problem: 'missing', expectedBytes: bytes } as const
  if (owners.ownerOf(writer) !== undefined) return { ...report, why: 'the file is gone' }
  return { ...report, why: 'the file is gone, or it is on a disk of another host', isElsewhere: true }
}

async function reportOf(
  file: PartOnDisk,
  committed: CommittedPart | undefined,
  owners: Owners,
): Promise<PartReport | undefined> {
  const report = (problem: PartReport['problem'], why: string, found: number | undefined): PartReport => ({
    part: file.name,
    problem,
    ...(committed !== undefined && { expectedBytes: committed.bytes }),
    ...(found !== undefined && { foundBytes: found }),
    why,
  })
  const foreign = whyForeign(file, committed, owners)
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
  { own, ownerOf }: Owners,
): string | undefined {
  if (file.irregular) return 'not a regular file'
  const parsed = parsePartName(file.name)
  if (parsed === undefined) return 'its name is not the name of a part'
  const owner = ownerOf(parsed.writer)
  if (owner === undefined) return `its writer ${parsed.writer} is unknown`
  if (owner.store !== own.store) return 'written under another store: the state was lost or replaced'
  if (owner.sink !== own.sink && committed === undefined) return `written by sink ${owner.sink}`
  return undefined
}
