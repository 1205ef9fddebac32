import { dirname } from 'node:path'
import type { CommittedPart } from '../../../domain/event/delivery.ts'
import type { Identity } from '../../../domain/event/event.ts'
import type { LastCopies } from '../../../ports/sink.ts'
import { syncFile } from './cut.ts'
import { syncFolder } from '../directory.ts'
import { throwIfAborted } from '../keyed-mutex.ts'
import { readLines, type LineBatch } from '../read/lines.ts'
import type { PartAtHand } from '../part-at-hand.ts'

/**
 * True when all whole lines beyond the committed length of a plain part can be cut although the day is no longer
 * readable: a frozen process left them, and other writers shipped their events since. A line that the format cannot
 * read back makes it false.
 */
export async function standElsewhere(at: PartAtHand, lastCopies: LastCopies): Promise<boolean> {
  for await (const { lines } of readLines(at.part.path, at.committed?.bytes ?? 0)) {
    throwIfAborted(at.signal)
    const identities = identitiesOf(at, lines)
    if (identities.length < lines.length || !(await lastCopies.areShipped(identities))) return false
  }
  return true
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
    committed = moved(at, committed, batch)
    await lastCopies.keep(identitiesOf(at, batch.lines), committed)
  }
  return committed
}

function moved(
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
