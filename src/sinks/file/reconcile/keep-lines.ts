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
 * Whether all whole lines beyond the committed length of a plain part may go although the day can no longer be read,
 * since others shipped their events too: a frozen process left these. Lines that the format cannot read back stay.
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
 * Takes the whole lines beyond the committed length in, a bounded batch at a time: each batch is committed before the
 * next is read. Lines that the format cannot read back are counted, without an identity.
 */
export async function keepLines(
  at: PartAtHand,
  path: string,
  lastCopies: LastCopies,
): Promise<CommittedPart | undefined> {
  let { committed } = at
  // A killed writer may not have come as far as its own sync.
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
