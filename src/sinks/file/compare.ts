import type { PartReport } from '../../domain/audit-report.ts'
import type { CommittedPart } from '../../domain/event/delivery.ts'
import type { Stream } from '../../domain/stream.ts'
import type { CommittedLengths } from '../../ports/delivery.ts'
import { findFolder, guarded, isClosed } from './files.ts'
import { type Owners, ownersBelow } from './identity.ts'
import {
  compressedLength,
  isLengthOf,
  lookAtPart,
  parsePartName,
  partNames,
  type PartOnDisk,
  placeOf,
} from './parts.ts'

/** A part, as the store knows it and as it is on the disk. */
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

/** What parts are compared with: what the store knows, and whose they are. */
export interface Known<C = CommittedLengths> {
  readonly known: C
  readonly sink: string
  readonly owners: Owners
}

/**
 * Compares a stream's parts with their committed lengths. Returns the differences by name; parts whose committed
 * length the store has dropped are none. Changes nothing. Throws Failure.
 */
export function compareParts(path: string, stream: Stream, known: CommittedLengths): Promise<PartReport[]> {
  return lookAtParts(path, stream, known).then(({ reports }) => reports)
}

/** The same, and which parts are as the store knows them and not compressed. */
export function lookAtParts(path: string, stream: Stream, known: CommittedLengths) {
  return guarded(path, async () => {
    const to = { known, sink: stream.sink, owners: await ownersBelow(path) }
    const states = await inspectParts(await findFolder(path, placeOf(stream)), to)
    const reports = states.flatMap(({ report, isDropped }) =>
      report === undefined || isDropped ? [] : [report],
    )
    return { reports, clean: states.flatMap(cleanPart).map(({ committed }) => committed) }
  })
}

interface CleanPart {
  readonly committed: CommittedPart
  readonly isClosed: boolean
}

/** The part where it is plain and as the store knows it. */
export function cleanPart({ committed, file, report }: PartState): CleanPart[] {
  if (committed === undefined || report !== undefined) return []
  if (file?.plain === undefined || file.compressed !== undefined) return []
  return [{ committed, isClosed: isClosed(file.plain) }]
}

/** The parts of a stream, by name; without those that have a committed length and at most this number. */
export async function inspectParts(
  folder: string | undefined,
  to: Known,
  settledTo = 0,
): Promise<PartState[]> {
  const listed = folder === undefined ? [] : await partNames(folder)
  const lengths = new Map(to.known.committed.map((part) => [part.part, part]))
  // A listing may miss a part that another process was compressing.
  const names = new Set([...listed, ...lengths.keys()])
  const states: PartState[] = []
  for (const name of [...names].sort()) {
    const committed = lengths.get(name)
    if (committed === undefined || Number.parseInt(name, 10) > settledTo)
      states.push(await inspectPart(folder, name, committed, to))
  }
  return states
}

export async function inspectPart(
  folder: string | undefined,
  name: string,
  committed: CommittedPart | undefined,
  to: Known,
): Promise<PartState> {
  const { knownSinceMs = -Infinity } = to.known
  const file = folder === undefined ? undefined : await lookAtPart(folder, name)
  const found = await differenceOf(file, committed, to)
  const expected = committed && { expectedBytes: committed.bytes }
  const report = found && { part: name, ...expected, ...found }
  const openedAtMs = parsePartName(name)?.openedAtMs ?? Infinity
  return { name, file, committed, report, isDropped: committed === undefined && openedAtMs < knownSinceMs }
}

async function differenceOf(
  file: PartOnDisk | undefined,
  committed: CommittedPart | undefined,
  to: Known,
): Promise<Omit<PartReport, 'part' | 'expectedBytes'> | undefined> {
  if (file === undefined) {
    if (committed === undefined) return undefined
    if (to.owners.has(committed.writer)) return { problem: 'missing', why: 'the file is gone' }
    const why = 'the file is gone, or it is on a disk of another host'
    return { problem: 'missing', why, isElsewhere: true }
  }
  const foreign = whyForeign(file, committed, to)
  if (foreign !== undefined)
    return { problem: 'foreign', ...(file.plain && { foundBytes: file.plain.size }), why: foreign }
  const length = file.compressed === undefined ? file.plain!.size : await compressedLength(file.compressed)
  const found = length === undefined ? {} : { foundBytes: length }
  if (committed === undefined && length === 0) return undefined
  if (committed === undefined) return { problem: 'unknown', ...found, why: 'the state has no record of it' }
  if (length === undefined || isLengthOf(length, file.compressed ?? '', committed.bytes)) return undefined
  return length < committed.bytes
    ? { problem: 'short', ...found, why: 'committed lines are gone' }
    : { problem: 'longer', ...found, why: 'it has lines after its committed length' }
}

/**
 * Why a part must not be changed; undefined when it belongs to this stream. A part with a committed length belongs to
 * it even under another sink name: `state rename-sink` moved the checkpoints.
 */
function whyForeign(
  { name, irregular }: PartOnDisk,
  committed: CommittedPart | undefined,
  { known, sink, owners }: Known,
): string | undefined {
  if (irregular) return 'not a regular file'
  const parsed = parsePartName(name)
  if (parsed === undefined) return 'its name is not the name of a part'
  const owner = owners.get(parsed.writer)
  if (owner === undefined) return `its writer ${parsed.writer} is unknown`
  if (owner.store !== known.storeId) return 'written under another state, which was lost or replaced'
  return owner.sink !== sink && committed === undefined ? `written by sink ${owner.sink}` : undefined
}
