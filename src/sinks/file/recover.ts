import type { Adopted, Receipt } from '../../domain/delivery.ts'
import type { Identity } from '../../domain/event.ts'
import type { OpenOptions } from '../../ports.ts'
import { compressedLength, isLengthOf } from './compressed-length.ts'
import { findFolder } from './directory.ts'
import { whyForeign } from './ownership.ts'
import { listParts, lookAtPart, type PartOnDisk } from './listing.ts'
import { throwIfAborted } from './lane.ts'
import { parsePartName, type PartName, type Place } from './part.ts'
import { settlePart } from './settle-part.ts'
import { isFull, type Writer } from './settings.ts'
import type { Continuation } from './stream-writer.ts'

export interface Recovered {
  readonly start: Continuation
  readonly adopted?: Adopted
}

/** A part whose length is what the store knows, or will know once it has taken the adopted lines in. */
interface CleanPart {
  readonly parsed: PartName
  readonly bytes: number
  readonly lines: number
  readonly links: number
}

/** Brings a stream's parts back to their receipts. To be called with the receipts of the fence, one call a stream. */
export async function recover(
  writer: Writer,
  place: Place,
  taken: OpenOptions,
  signal: AbortSignal,
): Promise<Recovered> {
  const receipts = new Map(taken.receipts.map((receipt) => [receipt.part, receipt]))
  const folder = await findFolder(writer.root, place.folders)
  const parts = folder === undefined ? [] : await listParts(folder)
  const clean: CleanPart[] = []
  const identities: Identity[] = []
  const forward: Receipt[] = []
  const foreign: string[] = []

  for (const part of parts) {
    throwIfAborted(signal)
    const receipt = receipts.get(part.name)
    const why = whyForeign(part, { store: writer.store, sink: writer.settings.name }, receipt, (id) =>
      writer.ownerOf(id),
    )
    if (why !== undefined) {
      foreign.push(why)
      if (receipt !== undefined) sayUnusable(writer, place, part.name, why)
      continue
    }
    const settled = await settle(writer, place, folder!, part, receipt, taken, signal)
    if (settled === undefined) continue
    if (settled.clean !== undefined) clean.push(settled.clean)
    if (settled.adopted === undefined) continue
    for (const identity of settled.adopted.identities) identities.push(identity)
    forward.push(...settled.adopted.receipts)
  }
  sayForeign(writer, foreign)
  const onDisk = new Set(parts.map((part) => part.name))
  for (const receipt of taken.receipts) {
    if (onDisk.has(receipt.part)) continue
    // A listing may miss a part that another process was compressing.
    const isThere = folder !== undefined && (await lookAtPart(folder, receipt.part)) !== undefined
    if (!isThere) sayMissing(writer, place, receipt)
  }
  for (const part of clean) writer.compressor.add({ place, parsed: part.parsed, bytes: part.bytes })

  const numbers = [...onDisk, ...receipts.keys()].map((name) => parsePartName(name)?.number ?? 0)
  const part = continued(writer, clean)
  const start = { nextNumber: Math.max(0, ...numbers) + 1, ...(part === undefined ? {} : { part }) }
  return forward.length === 0 ? { start } : { start, adopted: { identities, receipts: forward } }
}

interface Settled {
  readonly clean?: CleanPart
  readonly adopted?: Adopted
}

/** Looks first, since as a rule nothing is to be done; what is to be done wants the lock of the part's writer. */
async function settle(
  writer: Writer,
  place: Place,
  folder: string,
  part: PartOnDisk,
  receipt: Receipt | undefined,
  taken: OpenOptions,
  signal: AbortSignal,
): Promise<Settled | undefined> {
  if (await isClean(writer, part, receipt)) return cleanPart(part, receipt!)
  const lock = writer.hold(part.parsed!.writer)
  // A live writer's part: its next pump cuts it, or whoever comes after that writer has died.
  if (lock === undefined) return undefined
  try {
    // While this pump slept another may have had the stream: then its receipts are old and would cut what is committed.
    // One's own part too, since pumps of one process share a writer; from here on none of them gets in between.
    await taken.confirm()
    const held = await lookAtPart(folder, part.name)
    if (held === undefined) return undefined
    const outcome = await settlePart(writer, place, held, receipt, taken, signal)
    const now = await lookAtPart(folder, part.name)
    const known = outcome.adopted?.receipts[0] ?? receipt
    const settled = now !== undefined && (await isClean(writer, now, known)) ? cleanPart(now, known!) : {}
    return { ...settled, ...(outcome.adopted === undefined ? {} : { adopted: outcome.adopted }) }
  } finally {
    lock.release()
  }
}

async function isClean(writer: Writer, part: PartOnDisk, receipt: Receipt | undefined): Promise<boolean> {
  if (receipt === undefined) return false
  if (part.unfinished.length > 0 && !writer.compressor.isActive(part.path)) return false
  if (part.plain !== undefined) return part.compressed === undefined && part.plain.size === receipt.bytes
  if (part.compressed === undefined) return false
  return isLengthOf(await compressedLength(part.compressed.path), part.compressed.path, receipt.bytes)
}

function cleanPart(part: PartOnDisk, receipt: Receipt): Settled {
  if (part.plain === undefined) return {}
  return {
    clean: { parsed: part.parsed!, bytes: receipt.bytes, lines: receipt.lines, links: part.plain.nlink },
  }
}

/** The writer's own latest part, if it takes another delivery. */
function continued(writer: Writer, clean: readonly CleanPart[]): CleanPart | undefined {
  const own = clean.filter((part) => part.parsed.writer === writer.identity.id)
  const latest = own.sort((a, b) => a.parsed.number - b.parsed.number).at(-1)
  if (latest === undefined || latest.links !== 1) return undefined
  const full = isFull(writer.settings, latest.bytes, latest.parsed.openedAtMs, writer.clock.now())
  return full ? undefined : latest
}

function sayForeign(writer: Writer, whys: readonly string[]): void {
  if (whys.length === 0) return
  const why = [...new Set(whys)].join('; ')
  const sink = writer.settings.name
  writer.emitOnce('foreign', { name: 'PartsOfAnotherStore', sink, parts: whys.length, why })
}

function sayUnusable(writer: Writer, place: Place, part: string, why: string): void {
  const path = `${place.relative}/${part}`
  writer.emitOnce(`replaced ${path}`, { name: 'FileReplaced', sink: writer.settings.name, part: path, why })
}

/** A part of a writer that never was on this path lies on another host's disk: no reason for alarm. */
function sayMissing(writer: Writer, place: Place, receipt: Receipt): void {
  if (receipt.bytes === 0 || writer.ownerOf(receipt.writer) === undefined) return
  const part = `${place.relative}/${receipt.part}`
  const happening = { sink: writer.settings.name, part, expected: receipt.bytes, found: 0 }
  writer.emitOnce(`short ${part}`, { name: 'FileShort', ...happening })
}
