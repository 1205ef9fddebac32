import { unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Adopted, Receipt } from '../../domain/delivery.ts'
import type { Identity } from '../../domain/event.ts'
import type { OpenOptions } from '../../ports.ts'
import { compressedLength, isLengthOf } from './compressed-length.ts'
import { cutFile, endOfWholeLines, endsLine, keepFile, keepTail, syncFile } from './cut.ts'
import { readNotes } from './delivery-notes.ts'
import { syncFolder } from './directory.ts'
import { fileFailure } from './file-failure.ts'
import { throwIfAborted } from './lane.ts'
import { readLines } from './lines.ts'
import type { PartOnDisk } from './listing.ts'
import type { Place } from './part.ts'
import type { Writer } from './settings.ts'

/** What a pump knows of the stream. */
type Taken = Pick<OpenOptions, 'readable' | 'standOnlyHere'>

export interface SettleOutcome {
  readonly adopted?: Adopted
}

/** Brings one part back to its receipt, under the lock of its writer. */
export async function settlePart(
  writer: Writer,
  place: Place,
  part: PartOnDisk,
  receipt: Receipt | undefined,
  taken: Taken,
  signal: AbortSignal,
): Promise<SettleOutcome> {
  try {
    writer.compressor.withdraw(part.path)
    for (const path of part.unfinished) await unlink(path)
    if (part.compressed !== undefined)
      return await settleCompressed(writer, place, part, receipt, taken, signal)
    if (part.plain === undefined) return {}
    const known = receipt?.bytes ?? 0
    if (part.plain.size < known) return await settleShort(writer, place, part, known)
    if (known > 0 && !(await endsLine(part.path, known))) return sayOther(writer, place, part)
    if (!taken.readable) return await adopt(writer, place, part, part.path, receipt, taken, signal)
    await takeBack(writer, place, part, receipt, signal)
    return {}
  } catch (error) {
    throw await fileFailure(error, part.path)
  }
}

/** Cuts to the receipt, or removes what has none; keeps a copy of what is more than the latest delivery. */
async function takeBack(
  writer: Writer,
  place: Place,
  part: PartOnDisk,
  receipt: Receipt | undefined,
  signal: AbortSignal,
): Promise<void> {
  const size = part.plain!.size
  const known = receipt?.bytes ?? 0
  if (size === known && receipt !== undefined) return
  const path = `${place.relative}/${part.name}`
  const startOf = await notesOf(writer, part.parsed!.writer)
  const start = startOf(path)
  const keptAside = size > known && (start === undefined || known < start)
  if (keptAside && receipt === undefined) await keepFile(writer, place, part.path, part.name)
  else {
    if (keptAside) await keepTail(writer, place, part, known, signal)
    if (receipt === undefined) await unlink(part.path)
    else await cutFile(part.path, known)
  }
  sayCut(writer, path, size - known, keptAside)
}

/**
 * Of a day that can no longer be read every whole line stays and the receipt goes forward, unless all of what was never
 * committed stands elsewhere. Lines that the format cannot read back are counted, without an identity.
 */
async function adopt(
  writer: Writer,
  place: Place,
  part: PartOnDisk,
  path: string,
  receipt: Receipt | undefined,
  { standOnlyHere = async () => true }: Taken,
  signal: AbortSignal,
): Promise<SettleOutcome> {
  const identities: Identity[] = []
  const from = receipt?.bytes ?? 0
  let bytes = from
  let lines = 0
  for await (const batch of readLines(path, from)) {
    throwIfAborted(signal)
    for (const line of batch.lines) {
      const identity = writer.format.identify(line)
      if (identity !== undefined) identities.push(identity)
    }
    lines += batch.lines.length
    bytes = batch.end
  }
  const isRead = lines > 0 && identities.length === lines
  if (part.plain !== undefined && isRead && !(await standOnlyHere(identities))) {
    await takeBack(writer, place, part, receipt, signal)
    return {}
  }
  if (part.plain !== undefined && part.plain.size > bytes) {
    if (bytes === 0) await unlink(path)
    else await cutFile(path, bytes)
    sayCut(writer, `${place.relative}/${part.name}`, part.plain.size - bytes, false)
  }
  if (lines === 0) {
    if (part.plain?.size === 0 && receipt === undefined) await unlink(path)
    return {}
  }
  // A killed writer may not have come as far as its own sync.
  await syncFile(path)
  await syncFolder(dirname(path))
  const { writer: id } = part.parsed!
  const forward = { writer: id, part: part.name, bytes, lines: (receipt?.lines ?? 0) + lines }
  return { adopted: { identities, receipts: [forward] } }
}

/**
 * Where both forms stand the compressed one was whole and its rename durable, so the plain one goes; if it is no copy
 * of this plain part, that is kept aside. A compressed part is never cut.
 */
async function settleCompressed(
  writer: Writer,
  place: Place,
  part: PartOnDisk,
  receipt: Receipt | undefined,
  taken: Taken,
  signal: AbortSignal,
): Promise<SettleOutcome> {
  const { path } = part.compressed!
  const length = await compressedLength(path)
  const { plain, ...rest } = part
  if (plain !== undefined) {
    if (isLengthOf(length, path, plain.size)) await unlink(part.path)
    else {
      await keepFile(writer, place, part.path, part.name)
      sayReplaced(writer, place, part, `a compressed form of another length stands beside it; kept aside`)
    }
  }
  if (isLengthOf(length, path, receipt?.bytes ?? 0)) return {}
  if (!taken.readable) return await adopt(writer, place, rest, path, receipt, taken, signal)
  const about = `${place.relative}/${part.name}`
  if (receipt !== undefined && length !== undefined && length < receipt.bytes) {
    const numbers = { expected: receipt.bytes, found: length }
    writer.emitOnce(`short ${about}`, {
      name: 'FileShort',
      sink: writer.settings.name,
      part: about,
      ...numbers,
    })
    return {}
  }
  const text = `${about} is compressed and holds lines that the store does not know; they will stand twice`
  writer.emitOnce(`compressed ${about}`, { name: 'Warned', about: 'compressed part', text })
  return {}
}

/** Never padded and never continued; what is left of a torn last line goes. */
async function settleShort(
  writer: Writer,
  place: Place,
  part: PartOnDisk,
  expected: number,
): Promise<SettleOutcome> {
  const found = part.plain!.size
  const about = `${place.relative}/${part.name}`
  const sink = writer.settings.name
  writer.emitOnce(`short ${about}`, { name: 'FileShort', sink, part: about, expected, found })
  const end = await endOfWholeLines(part.path, found)
  if (end === found) return {}
  await cutFile(part.path, end)
  sayCut(writer, about, found - end, false)
  return {}
}

/** Its committed length does not end a line: somebody put another file there. */
function sayOther(writer: Writer, place: Place, part: PartOnDisk): SettleOutcome {
  sayReplaced(writer, place, part, 'its content is not what was written')
  return {}
}

function sayReplaced(writer: Writer, place: Place, part: PartOnDisk, why: string): void {
  const path = `${place.relative}/${part.name}`
  writer.emitOnce(`replaced ${path}`, { name: 'FileReplaced', sink: writer.settings.name, part: path, why })
}

function sayCut(writer: Writer, part: string, bytes: number, keptAside: boolean): void {
  if (bytes > 0) writer.emit({ name: 'FileCut', sink: writer.settings.name, part, bytes, keptAside })
}

async function notesOf(writer: Writer, id: string): Promise<(part: string) => number | undefined> {
  if (id === writer.identity.id) return (part) => writer.notes.startOf(part)
  return await readNotes(notesPath(writer.ownFolder, id))
}

export function notesPath(ownFolder: string, id: string): string {
  return `${ownFolder}/${id}.deliveries`
}
