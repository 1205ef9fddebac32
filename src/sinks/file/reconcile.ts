import { readdir, rename, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncFolder } from '../../disk.ts'
import type { PartReport } from '../../domain/audit-report.ts'
import type { CommittedPart } from '../../domain/event/delivery.ts'
import type { Stream } from '../../domain/stream.ts'
import type { CommittedLengths, Reconciliation } from '../../ports/delivery.ts'
import {
  copiesFolder,
  copyTo,
  cutFile,
  endOfWholeLines,
  findFolder,
  guarded,
  headBytes,
  headIn,
  isClosed,
  lookAt,
  makeFolders,
  throwIfAborted,
} from './files.ts'
import { type Owners, ownersBelow } from './identity.ts'
import {
  compressedLength,
  copyPrefix,
  fullAt,
  isLengthOf,
  lookAtPart,
  parsePartName,
  partNames,
  type PartOnDisk,
  placeOf,
  readBytes,
} from './parts.ts'
import { dropOldCopies, type Writer } from './writer.ts'

/** A part, as the store knows it and as it is on the disk. */
interface PartState {
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
interface Known {
  readonly known: CommittedLengths
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
function cleanPart({ committed, file, report }: PartState): CleanPart[] {
  if (committed === undefined || report !== undefined) return []
  if (file?.plain === undefined || file.compressed !== undefined) return []
  return [{ committed, isClosed: isClosed(file.plain) }]
}

/** The parts of a stream, by name; without those that have a committed length and at most this number. */
async function inspectParts(folder: string | undefined, to: Known, settledTo = 0): Promise<PartState[]> {
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

async function inspectPart(
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

/** What the next writer of a stream needs to continue. */
export type Continuation = Awaited<ReturnType<typeof reconcile>>

/** Brings a stream's parts back to their committed lengths. At most one call per stream at a time. */
export async function reconcile(writer: Writer, place: string, known: Reconciliation, signal: AbortSignal) {
  const { root, settings } = writer
  const sink = settings.name
  const to = { known, sink, owners: await writer.owners() }

  function sayShort(committed: CommittedPart, found: number): void {
    const part = `${place}/${committed.part}`
    writer.emitOnce(part, { name: 'FileShort', sink, part, expected: committed.bytes, found })
  }

  function sayReplaced(name: string, why: string): void {
    const part = `${place}/${name}`
    writer.emitOnce(part, { name: 'FileReplaced', sink, part, why })
  }

  function sayCut(name: string, bytes: number, keptAside: boolean): void {
    if (bytes > 0) writer.emit({ name: 'FileCut', sink, part: `${place}/${name}`, bytes, keptAside })
  }

  /** Normally nothing is to be done. A change requires the lock of the part's writer. Returns the state after it. */
  async function broughtBack(state: PartState): Promise<PartState> {
    const { name, file, committed, report } = state
    if (report?.problem === 'foreign' && committed !== undefined) sayReplaced(name, report.why)
    // A part whose writer was never on this path is on another host's disk: not reported.
    if (report?.problem === 'missing' && report.isElsewhere !== true) sayShort(committed!, 0)
    if (file === undefined || report?.problem === 'foreign') return state
    const hasBothForms = file.plain !== undefined && file.compressed !== undefined
    if (committed !== undefined && report === undefined && !hasBothForms) return state
    using lock = await writer.hold(parsePartName(name)!.writer)
    // The writer is alive: its next pump cuts the part, or the first pump after that writer's death.
    if (lock === undefined) return state
    // Another pump may have had the stream while this one was suspended: its committed lengths would then be old, and
    // a cut would destroy committed lines. This includes own parts, since pumps of one process share a writer.
    await known.confirm()
    const folder = dirname(file.path)
    const held = await lookAtPart(folder, name)
    if (held?.irregular === false) await guarded(`${root}/${place}/${name}`, () => bringBack(held, committed))
    return await inspectPart(folder, name, committed, to)
  }

  /** The caller holds the lock of the part's writer. */
  async function bringBack(part: PartOnDisk, committed: CommittedPart | undefined): Promise<void> {
    const { name, path, plain, compressed } = part
    if (compressed !== undefined) return bringBackCompressed(part, compressed, committed)
    const { size } = plain!
    const bytes = committed?.bytes ?? 0
    const end = await endOfWholeLines(path, Math.min(size, bytes))
    if (size < bytes) {
      // A short part is neither padded nor continued.
      sayShort(committed!, size)
      await cutFile(path, end)
      return sayCut(name, size - end, false)
    }
    if (end < bytes) return sayReplaced(name, 'its content is not what shieldlog wrote')
    if (size > bytes) {
      const copy = await copyPath(writer, place, name, bytes)
      if (committed !== undefined) await copyEnd(writer, part, bytes, copy, signal)
      const hasLines = (await endOfWholeLines(path, size)) > bytes
      if (hasLines) await known.unreadable?.lost(copy)
      if (committed !== undefined) await cutFile(path, bytes)
      else {
        await moveAside(path, copy)
        if (known.unreadable === undefined) await keepLongest(place, dirname(copy), known)
      }
    } else if (committed === undefined) await unlink(path)
    sayCut(name, size - bytes, true)
  }

  /**
   * Where both forms exist, the compressed one is complete and its rename was durable, so the plain one is removed; if
   * the lengths differ, it is moved aside. A compressed part is never cut.
   */
  async function bringBackCompressed(
    part: PartOnDisk,
    compressed: string,
    committed: CommittedPart | undefined,
  ): Promise<void> {
    const length = await compressedLength(compressed)
    if (part.plain !== undefined) {
      if (!isLengthOf(length, compressed, part.plain.size)) {
        await moveAside(part.path, await copyPath(writer, place, part.name, 0))
        const why = 'a compressed file of another length exists; the plain file was moved aside'
        sayReplaced(part.name, why)
      } else await unlink(part.path)
    }
    if (length === undefined || isLengthOf(length, compressed, committed?.bytes ?? 0)) return
    if (committed !== undefined && length < committed.bytes) sayShort(committed, length)
    else if (known.unreadable === undefined) {
      const about = `${place}/${part.name}`
      const text = `${about} is compressed and contains lines that the state does not know; they will be written twice`
      writer.emitOnce(about, { name: 'Warned', about: 'compressed part', text })
    }
  }

  const settledTo = writer.settled.get(place) ?? 0
  const states = await inspectParts(await findFolder(root, place), to, settledTo)
  const after: PartState[] = []
  const foreign = new Set<string>()
  for (const state of states) {
    throwIfAborted(signal)
    if (state.isDropped) continue
    if (state.report?.problem === 'foreign') foreign.add(state.report.why)
    after.push(await broughtBack(state))
  }
  writer.settle(place, settledAfter(writer, after, settledTo))
  if (foreign.size > 0)
    writer.emitOnce(root, { name: 'PartsOfAnotherStore', sink, why: [...foreign].join('; ') })
  const clean = after.flatMap(cleanPart)
  for (const { committed } of clean) writer.compress(place, committed)
  const part = continued(writer, clean)
  return {
    part,
    /** No new part begins as one of these. */
    heads: part === undefined ? await headsOf(root, place, known) : [],
    /** First part number never used. */
    nextNumber: 1 + Math.max(settledTo, ...states.map(({ name }) => numberOf(name))),
  }
}

/** The writer's own latest part, if it takes another delivery. */
function continued({ deps, identity, settings }: Writer, clean: ReturnType<typeof cleanPart>) {
  const own = clean.filter(({ committed }) => committed.writer === identity.id)
  const latest = own.toSorted((a, b) => numberOf(a.committed.part) - numberOf(b.committed.part)).at(-1)
  const isOpen = latest?.isClosed === false && deps.clock.now() < fullAt(settings, latest.committed)
  return isOpen ? latest.committed : undefined
}

/** Up to which number all parts take no delivery any more, and have the form in which they stay. */
function settledAfter({ deps, settings }: Writer, states: readonly PartState[], before: number): number {
  let [settledTo, openFrom] = [before, Infinity]
  for (const { name, committed, file, report } of states) {
    if (committed === undefined) continue
    const isFull = deps.clock.now() >= fullAt(settings, committed)
    const staysPlain = settings.compress === 'none' || report !== undefined
    const hasForm = file?.plain === undefined || (file.compressed === undefined && staysPlain)
    if (isFull && hasForm && report?.problem !== 'longer') settledTo = Math.max(settledTo, numberOf(name))
    else openFrom = Math.min(openFrom, numberOf(name))
  }
  return Math.min(settledTo, openFrom - 1)
}

/**
 * Where what is cut of a part is kept: normally one delivery of a killed process, which is read again; with an older copy
 * of the store everything that the copy lacks.
 */
async function copyPath({ deps, root, settings }: Writer, place: string, name: string, from: number) {
  await dropOldCopies(root, deps.clock.now())
  const folder = await makeFolders(root, copiesFolder, settings.dirMode)
  return join(folder, `${copyPrefix(place)}${name}.from-${from}`)
}

/**
 * Copies what the plain part holds beyond a length, synced, before the caller cuts it. Only the longest copy per length
 * is kept.
 */
async function copyEnd(
  { settings }: Writer,
  { path, plain }: PartOnDisk,
  from: number,
  copy: string,
  signal: AbortSignal,
): Promise<void> {
  const kept = await lookAt(copy)
  if (kept !== undefined && kept.size >= plain!.size - from) return
  await copyTo(`${copy}.unfinished`, settings, readBytes(path, from), signal)
  await moveAside(`${copy}.unfinished`, copy)
}

/** The file stays the same one: no new part gets its inode, by which agents know files, as long as it is kept. */
async function moveAside(path: string, copy: string): Promise<void> {
  await rename(path, copy)
  await syncFolder(dirname(copy))
}

/** Copies of the parts that the stream began since its last commit, and that were moved aside. */
async function copiesSince(place: string, folder: string | undefined, { committed }: CommittedLengths) {
  const since = Math.max(0, ...committed.map(({ part }) => numberOf(part)))
  const copies: { readonly path: string; readonly size: number }[] = []
  for (const name of folder === undefined ? [] : await readdir(folder)) {
    const [, part = ''] = name.split(copyPrefix(place))
    if (!part.endsWith('.from-0') || numberOf(part.replace('.from-0', '')) <= since) continue
    const path = join(folder!, name)
    copies.push({ path, size: (await lookAt(path))?.size ?? 0 })
  }
  return copies
}

/** Only the longest copy keeps more than its head, so that a process that dies again and again fills no disk. */
async function keepLongest(place: string, folder: string, known: CommittedLengths): Promise<void> {
  const copies = await copiesSince(place, folder, known)
  const shorter = copies.sort((a, b) => b.size - a.size).slice(1)
  for (const { path, size } of shorter) if (size > headBytes) await cutFile(path, headBytes)
}

/** How the parts began that were moved aside since the last commit. */
async function headsOf(root: string, place: string, known: CommittedLengths): Promise<string[]> {
  const copies = await copiesSince(place, await findFolder(root, copiesFolder), known)
  const heads: string[] = []
  for (const { path, size } of copies) if (size > 0) heads.push(await headIn(path))
  return heads
}

function numberOf(name: string): number {
  return parsePartName(name)?.number ?? 0
}
