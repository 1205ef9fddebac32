import { rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { CommittedPart } from '../../domain/event/delivery.ts'
import type { Reconciliation } from '../../ports/delivery.ts'
import type { Continuation } from './append.ts'
import { isDropped, whyForeign } from './compare-parts.ts'
import { compressedLength, isLengthOf } from './compress.ts'
import {
  copiesFolder,
  copyTo,
  cutFile,
  dropOldCopies,
  endOfWholeLines,
  endsLine,
  fileFailure,
  findFolder,
  lookAt,
  makeFolders,
  ownFolder,
  syncFolder,
  throwIfAborted,
} from './files.ts'
import {
  isFull,
  listParts,
  lookAtPart,
  parsePartName,
  type PartName,
  type PartOnDisk,
  type Place,
} from './parts.ts'
import { readBytes } from './read.ts'
import type { Writer } from './writer.ts'

/** A plain part whose length matches the store. */
interface CleanPart {
  readonly parsed: PartName
  readonly bytes: number
  readonly lines: number
}

/** Brings a stream's parts back to their committed lengths. At most one call per stream at a time. */
export async function reconcile(files: FilesAtHand): Promise<Continuation> {
  const { writer, place, known, signal } = files
  const committed = new Map(known.committed.map((committedPart) => [committedPart.part, committedPart]))
  const folder = await findFolder(writer.root, place.folders)
  const parts = folder === undefined ? [] : await listParts(folder)
  const onDisk = new Set(parts.map((part) => part.name))
  const nextNumber = 1 + Math.max(0, ...[...onDisk, ...committed.keys()].map(numberOf))
  const clean: CleanPart[] = []
  const foreign: string[] = []
  for (const part of parts) {
    throwIfAborted(signal)
    const own = committed.get(part.name)
    if (own === undefined && isDropped(part.parsed, known.knownSinceMs)) continue
    const at = { ...files, part, ...(own !== undefined && { committed: own }) }
    const why = whyForeign(part, writer.owner, own, (id) => writer.ownerOf(id))
    if (why === undefined) clean.push(...(await reconcileOne(at, folder!)))
    else {
      foreign.push(why)
      if (own !== undefined) sayReplaced(at, why)
    }
  }
  sayForeign(files, foreign)
  for (const committedPart of known.committed) {
    if (onDisk.has(committedPart.part)) continue
    // A listing may miss a part that another process was compressing.
    const isThere = folder !== undefined && (await lookAtPart(folder, committedPart.part)) !== undefined
    if (!isThere) sayMissing(files, committedPart)
  }
  for (const { parsed, bytes } of clean) writer.compressor.add({ place, parsed, bytes })

  const part = continued(files, clean)
  return { nextNumber, ...(part === undefined ? {} : { part }) }
}

function numberOf(name: string): number {
  return parsePartName(name)?.number ?? 0
}

/** Checks without the lock first: normally nothing is to be done. A change requires the writer's lock. */
async function reconcileOne(at: PartAtHand, folder: string): Promise<CleanPart[]> {
  const { writer, part, committed } = at
  if (await isClean(at, committed)) return cleanPart(part, committed)
  const lock = writer.hold(part.parsed!.writer)
  // The writer is alive: its next pump cuts the part, or the first pump after that writer's death.
  if (lock === undefined) return []
  try {
    // Another pump may have had the stream while this one was suspended: its committed lengths would then be old, and
    // a cut would destroy committed lines. This includes own parts, since pumps of one process share a writer.
    await at.known.confirm()
    const held = await lookAtPart(folder, part.name)
    if (held === undefined) return []
    await reconcilePart({ ...at, part: held })
    const after = await lookAtPart(folder, part.name)
    const isNowClean = after !== undefined && (await isClean({ ...at, part: after }, committed))
    return isNowClean ? cleanPart(after, committed) : []
  } finally {
    lock.release()
  }
}

async function isClean({ writer, part }: PartAtHand, committed: CommittedPart | undefined): Promise<boolean> {
  if (committed === undefined) return false
  if (part.unfinished.length > 0 && !writer.compressor.isActive(part.path)) return false
  if (part.plain !== undefined) return part.compressed === undefined && part.plain.size === committed.bytes
  if (part.compressed === undefined) return false
  return isLengthOf(await compressedLength(part.compressed.path), part.compressed.path, committed.bytes)
}

function cleanPart({ parsed, plain }: PartOnDisk, committed: CommittedPart | undefined): CleanPart[] {
  if (plain === undefined || committed === undefined) return []
  return [{ parsed: parsed!, bytes: committed.bytes, lines: committed.lines }]
}

/** The writer's own latest part, if it takes another delivery. */
function continued({ writer }: FilesAtHand, clean: readonly CleanPart[]): CleanPart | undefined {
  const own = clean.filter((part) => part.parsed.writer === writer.identity.id)
  const latest = own.sort((a, b) => a.parsed.number - b.parsed.number).at(-1)
  if (latest === undefined) return undefined
  const { bytes, parsed } = latest
  const full = isFull(writer.settings, { bytes, openedAtMs: parsed.openedAtMs }, writer.clock.now())
  return full ? undefined : latest
}

function sayForeign({ writer }: FilesAtHand, whys: readonly string[]): void {
  if (whys.length === 0) return
  const why = [...new Set(whys)].join('; ')
  const sink = writer.settings.name
  writer.emitOnce('foreign', { name: 'PartsOfAnotherStore', sink, why })
}

/** A part whose writer was never on this path is on another host's disk: not reported. */
function sayMissing({ writer, place }: FilesAtHand, committedPart: CommittedPart): void {
  if (committedPart.bytes === 0 || writer.ownerOf(committedPart.writer) === undefined) return
  const part = `${place.relative}/${committedPart.part}`
  const internalEvent = { sink: writer.settings.name, part, expected: committedPart.bytes, found: 0 }
  writer.emitOnce(`short ${part}`, { name: 'FileShort', ...internalEvent })
}

/** Brings one part back to its committed length. The caller holds the writer's lock. */
async function reconcilePart(at: PartAtHand): Promise<void> {
  const { writer, part } = at
  try {
    writer.compressor.revoke(part.path)
    for (const path of part.unfinished) await unlink(path)
    if (part.compressed !== undefined) await reconcileCompressed(at, part.compressed.path)
    else if (part.plain !== undefined) await reconcilePlain(at, part.plain.size)
  } catch (error) {
    throw await fileFailure(error, part.path)
  }
}

async function reconcilePlain(at: PartAtHand, size: number): Promise<void> {
  const { part, committed } = at
  const bytes = committed?.bytes ?? 0
  if (size < bytes) {
    // A short part is neither padded nor continued.
    sayShort(at, size)
    await cutTornLine(at, size)
  } else if (bytes > 0 && !(await endsLine(part.path, bytes)))
    sayReplaced(at, 'its content is not what shieldlog wrote')
  else await takeBack(at, size)
}

/** Cuts to the committed length, or removes a part that has none. */
async function takeBack(at: PartAtHand, size: number): Promise<void> {
  const { part, committed, known } = at
  const bytes = committed?.bytes ?? 0
  if (size > bytes) {
    const copy = await keepAside(at, bytes)
    const hasLines = (await endOfWholeLines(part.path, size)) > bytes
    if (hasLines) await known.unreadable?.lost(copy)
  }
  if (committed === undefined) await unlink(part.path)
  else await cutFile(part.path, bytes)
  sayCut(at, { bytes: size - bytes, keptAside: true })
}

async function cutTornLine(at: PartAtHand, size: number): Promise<void> {
  const end = await endOfWholeLines(at.part.path, size)
  if (end < size) await cutFile(at.part.path, end)
  sayCut(at, { bytes: size - end, keptAside: false })
}

/**
 * Where both forms exist, the compressed one is complete and its rename was durable, so the plain one is removed; if
 * the lengths differ, the plain one is copied aside first. A compressed part is never cut.
 */
async function reconcileCompressed(at: PartAtHand, path: string): Promise<void> {
  const { writer, part, committed, known } = at
  const length = await compressedLength(path)
  if (part.plain !== undefined) {
    if (!isLengthOf(length, path, part.plain.size)) {
      await keepAside(at, 0)
      sayReplaced(at, 'a compressed file of another length exists; the plain file was moved aside')
    }
    await unlink(part.path)
  }
  if (isLengthOf(length, path, committed?.bytes ?? 0)) return
  if (committed !== undefined && length !== undefined && length < committed.bytes) sayShort(at, length)
  else if (known.unreadable === undefined) {
    const about = nameOf(at)
    const text = `${about} is compressed and contains lines that the store does not know; they will be written twice`
    writer.emitOnce(`compressed ${about}`, { name: 'Warned', about: 'compressed part', text })
  }
}

function sayShort(at: PartAtHand, found: number): void {
  const part = nameOf(at)
  const sink = at.writer.settings.name
  const expected = at.committed!.bytes
  at.writer.emitOnce(`short ${part}`, { name: 'FileShort', sink, part, expected, found })
}

function sayReplaced(at: PartAtHand, why: string): void {
  const part = nameOf(at)
  const sink = at.writer.settings.name
  at.writer.emitOnce(`replaced ${part}`, { name: 'FileReplaced', sink, part, why })
}

function sayCut(at: PartAtHand, cut: { readonly bytes: number; readonly keptAside: boolean }): void {
  if (cut.bytes === 0) return
  at.writer.emit({ name: 'FileCut', sink: at.writer.settings.name, part: nameOf(at), ...cut })
}

/**
 * Copies what the plain part holds beyond a length, synced, before the caller cuts it. Normally that is one delivery of
 * a killed process, which is read again; with an older copy of the store it is everything that the copy lacks. Only the
 * longest copy per length is kept, so that a process that dies repeatedly leaves one. Returns its path.
 */
async function keepAside({ writer, place, part, signal }: PartAtHand, from: number): Promise<string> {
  const { mode, dirMode } = writer.settings
  await dropOldCopies(writer.root, writer.clock.now())
  const folder = await makeFolders(writer.root, [ownFolder, copiesFolder], dirMode)
  const path = join(folder, `${place.folders.join('.')}.${part.name}.from-${from}`)
  const kept = await lookAt(path)
  if (kept !== undefined && kept.size >= part.plain!.size - from) return path
  const unfinished = `${path}.unfinished`
  await copyTo({ path: unfinished, mode }, await readBytes(part.path, from), signal)
  await rename(unfinished, path)
  await syncFolder(folder)
  return path
}

/** A stream's files during reconciliation. */
interface FilesAtHand {
  readonly writer: Writer
  readonly place: Place
  readonly known: Reconciliation
  readonly signal: AbortSignal
}

/** One part of them. */
interface PartAtHand extends FilesAtHand {
  readonly part: PartOnDisk
  /** Absent for a part without a committed length. */
  readonly committed?: CommittedPart
}

/** Name of the part in messages. */
export function nameOf({ place, part }: Pick<PartAtHand, 'place' | 'part'>): string {
  return `${place.relative}/${part.name}`
}
