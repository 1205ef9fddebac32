import { unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { CommittedPart } from '../../../domain/event/delivery.ts'
import type { Identity } from '../../../domain/event/event.ts'
import type { LastCopies } from '../../../ports/delivery.ts'
import { writeAll } from '../copy.ts'
import { syncFolder } from '../directory.ts'
import { throwIfAborted } from '../keyed-mutex.ts'
import { committedOf, createPart, type OpenPart } from '../open-part.ts'
import type { PartAtHand } from '../part-at-hand.ts'
import { readLines, type LineBatch } from '../read/lines.ts'
import { syncFile } from './cut.ts'

/**
 * How many of a plain part's uncommitted lines may be the last copies of their events. A line that the format cannot
 * read back always may.
 */
export async function lastCopiesIn(at: PartAtHand, lastCopies: LastCopies): Promise<'none' | 'some' | 'all'> {
  let lines = 0
  let last = 0
  for await (const batch of readLines(at.part.path, at.committed?.bytes ?? 0)) {
    throwIfAborted(at.signal)
    lines += batch.lines.length
    last += (await lastOf(at, batch.lines, lastCopies)).lines.length
  }
  if (last === 0) return 'none'
  return last < lines ? 'some' : 'all'
}

/**
 * Commits the whole lines beyond the committed length, in bounded batches: each batch is committed before the next is
 * read. Lines that the format cannot read back are counted, without an identity.
 */
export async function keepLines(
  at: PartAtHand,
  path: string,
  lastCopies: LastCopies,
): Promise<CommittedPart | undefined> {
  let { committed } = at
  // A killed writer may have died before its own sync.
  await syncFile(path)
  await syncFolder(dirname(path))
  for await (const batch of readLines(path, committed?.bytes ?? 0)) {
    throwIfAborted(at.signal)
    if (batch.lines.length === 0) continue
    committed = extended(at, committed, batch)
    await lastCopies.keep(identitiesOf(at, batch.lines), committed)
  }
  return committed
}

/**
 * Writes the last copies among a plain part's uncommitted lines to a new part and commits them there, in bounded
 * batches; all lines can be cut then. After a crash in between the same is done again for the lines that are left.
 */
export async function moveLines(at: PartAtHand, lastCopies: LastCopies): Promise<CommittedPart> {
  const part = await createPart(at.writer, dirname(at.part.path), at.takeNumber())
  try {
    for await (const batch of readLines(at.part.path, at.committed?.bytes ?? 0)) {
      throwIfAborted(at.signal)
      const { lines, identities } = await lastOf(at, batch.lines, lastCopies)
      if (lines.length === 0) continue
      await append(part, lines)
      await lastCopies.keep(identities, committedOf(part))
    }
    return committedOf(part)
  } catch (error) {
    // Nothing of it is committed: on a full disk each try would leave such a part.
    if (part.bytes === 0) await unlink(part.path).catch(() => undefined)
    throw error
  } finally {
    await part.handle.close()
  }
}

/** The part counts only what is synced. */
async function append(part: OpenPart, lines: readonly string[]): Promise<void> {
  const bytes = Buffer.from(`${lines.join('\n')}\n`)
  await writeAll(part.handle, bytes, part.path)
  await part.handle.datasync()
  part.bytes += bytes.length
  part.lines += lines.length
}

/** The lines whose events no other part has, or that the format cannot read back, and the identities of the former. */
async function lastOf({ writer }: PartAtHand, lines: readonly string[], lastCopies: LastCopies) {
  const identified = lines.map((line) => ({ line, identity: writer.format.identify(line) }))
  const known = identified.map(({ identity }) => identity).filter((identity) => identity !== undefined)
  const identities = await lastCopies.unshippedOf(known)
  const last = new Set(identities)
  const isLast = (identity: Identity | undefined) => identity === undefined || last.has(identity)
  return { lines: identified.filter(({ identity }) => isLast(identity)).map(({ line }) => line), identities }
}

function extended(
  { part }: PartAtHand,
  committed: CommittedPart | undefined,
  { lines, end }: LineBatch,
): CommittedPart {
  const { writer } = part.parsed!
  return { writer, part: part.name, bytes: end, lines: (committed?.lines ?? 0) + lines.length }
}

function identitiesOf({ writer }: PartAtHand, lines: readonly string[]): Identity[] {
  return lines.map((line) => writer.format.identify(line)).filter((identity) => identity !== undefined)
}
