import type { CommittedPart } from '../../../domain/event/delivery.ts'
import { compressedLength, isLengthOf } from '../compress/compressed-length.ts'
import { findFolder } from '../directory.ts'
import { throwIfAborted } from '../keyed-mutex.ts'
import { listParts, lookAtPart, type PartOnDisk } from '../read/listing.ts'
import { whyForeign } from '../ownership.ts'
import { parsePartName, type PartName } from '../part.ts'
import { nameOf, type FilesAtHand, type PartAtHand } from '../part-at-hand.ts'
import { reconcilePart } from './reconcile-part.ts'
import { isFull } from '../settings.ts'
import type { Continuation } from '../stream-writer.ts'

/** A plain part whose length matches the store. */
interface CleanPart {
  readonly parsed: PartName
  readonly bytes: number
  readonly lines: number
}

/** Brings a stream's parts back to their committed lengths. At most one call per stream at a time. */
export async function reconcile(stream: Omit<FilesAtHand, 'takeNumber'>): Promise<Continuation> {
  const { writer, place, known, signal } = stream
  const committed = new Map(known.committed.map((committedPart) => [committedPart.part, committedPart]))
  const folder = await findFolder(writer.root, place.folders)
  const parts = folder === undefined ? [] : await listParts(folder)
  const onDisk = new Set(parts.map((part) => part.name))
  let nextNumber = 1 + Math.max(0, ...[...onDisk, ...committed.keys()].map(numberOf))
  const files: FilesAtHand = { ...stream, takeNumber: () => nextNumber++ }
  const clean: CleanPart[] = []
  const foreign: string[] = []
  for (const part of parts) {
    throwIfAborted(signal)
    const own = committed.get(part.name)
    const at = { ...files, part, ...(own !== undefined && { committed: own }) }
    const why = whyForeign(part, writer.owner, own, (id) => writer.ownerOf(id))
    if (why === undefined) clean.push(...(await reconcileOne(at, folder!)))
    else {
      foreign.push(why)
      if (own !== undefined) sayUnusable(at, why)
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
    const clean: CleanPart[] = []
    for (const now of await reconcilePart({ ...at, part: held })) {
      const after = await lookAtPart(folder, now.part)
      if (after !== undefined && (await isClean({ ...at, part: after }, now)))
        clean.push(...cleanPart(after, now))
    }
    return clean
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

function sayUnusable(at: PartAtHand, why: string): void {
  const part = nameOf(at)
  const sink = at.writer.settings.name
  at.writer.emitOnce(`replaced ${part}`, { name: 'FileReplaced', sink, part, why })
}

/** A part whose writer was never on this path is on another host's disk: not reported. */
function sayMissing({ writer, place }: FilesAtHand, committedPart: CommittedPart): void {
  if (committedPart.bytes === 0 || writer.ownerOf(committedPart.writer) === undefined) return
  const part = `${place.relative}/${committedPart.part}`
  const internalEvent = { sink: writer.settings.name, part, expected: committedPart.bytes, found: 0 }
  writer.emitOnce(`short ${part}`, { name: 'FileShort', ...internalEvent })
}
