import { unlink } from 'node:fs/promises'
import type { CommittedPart } from '../../../domain/event/delivery.ts'
import type { LastCopies } from '../../../ports/delivery.ts'
import { keepLines, lastCopiesIn, moveLines } from './keep-lines.ts'
import { compressedLength, isLengthOf } from '../compress/compressed-length.ts'
import { cutFile, endOfWholeLines, endsLine } from './cut.ts'
import { fileFailure } from '../file-failure.ts'
import { keepAside } from './keep-aside.ts'
import { nameOf, type PartAtHand } from '../part-at-hand.ts'
import type { PartOnDisk } from '../read/listing.ts'

type Lengths = (CommittedPart | undefined)[]

/**
 * Brings one part back to its committed length. Returns that length, and the one of the part that lines were moved to.
 * The caller holds the writer's lock.
 */
export async function reconcilePart(at: PartAtHand): Promise<CommittedPart[]> {
  const { writer, part } = at
  try {
    writer.compressor.revoke(part.path)
    for (const path of part.unfinished) await unlink(path)
    const lengths = await lengthsOf(at, part)
    return lengths.filter((length) => length !== undefined)
  } catch (error) {
    throw await fileFailure(error, part.path)
  }
}

async function lengthsOf(at: PartAtHand, { compressed, plain }: PartOnDisk): Promise<Lengths> {
  if (compressed !== undefined) return [await reconcileCompressed(at, compressed.path)]
  return plain === undefined ? [at.committed] : await reconcilePlain(at, plain.size)
}

async function reconcilePlain(at: PartAtHand, size: number): Promise<Lengths> {
  const { part, committed, known } = at
  const bytes = committed?.bytes ?? 0
  if (size < bytes) {
    // A short part is neither padded nor continued.
    sayShort(at, size)
    await cutTornLine(at, size)
  } else if (bytes > 0 && !(await endsLine(part.path, bytes)))
    sayReplaced(at, 'its content is not what shieldlog wrote')
  else if (known.lastCopies === undefined) await takeBack(at, size)
  else return await reconcileUnreadable(at, size, known.lastCopies)
  return [committed]
}

/** Each uncommitted line is kept unless another part has its event. */
async function reconcileUnreadable(at: PartAtHand, size: number, lastCopies: LastCopies): Promise<Lengths> {
  const found = await lastCopiesIn(at, lastCopies)
  if (found === 'all') {
    await cutTornLine(at, size)
    return [await keepLines(at, at.part.path, lastCopies)]
  }
  if (found === 'none') {
    await takeBack(at, size)
    return [at.committed]
  }
  // First, since it may fail each time: a line that the format cannot read back would be moved again at each try.
  await keepAside(at, at.committed?.bytes ?? 0)
  const moved = await moveLines(at, lastCopies)
  await takeBack(at, size)
  return [at.committed, moved]
}

/** Cuts to the committed length, or removes a part that has none. */
async function takeBack(at: PartAtHand, size: number): Promise<void> {
  const { part, committed } = at
  const bytes = committed?.bytes ?? 0
  if (size > bytes) await keepAside(at, bytes)
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
async function reconcileCompressed(at: PartAtHand, path: string): Promise<CommittedPart | undefined> {
  const { writer, part, committed, known } = at
  const length = await compressedLength(path)
  if (part.plain !== undefined) {
    if (!isLengthOf(length, path, part.plain.size)) {
      await keepAside(at, 0)
      sayReplaced(at, 'a compressed file of another length exists; the plain file was moved aside')
    }
    await unlink(part.path)
  }
  if (isLengthOf(length, path, committed?.bytes ?? 0)) return committed
  if (known.lastCopies !== undefined) return await keepLines(at, path, known.lastCopies)
  if (committed !== undefined && length !== undefined && length < committed.bytes) sayShort(at, length)
  else {
    const about = nameOf(at)
    const text = `${about} is compressed and contains lines that the store does not know; they will be written twice`
    writer.emitOnce(`compressed ${about}`, { name: 'Warned', about: 'compressed part', text })
  }
  return committed
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
