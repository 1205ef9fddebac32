import type { Identity } from '../domain/event.ts'
import { fingerprintOf } from '../domain/fingerprint.ts'
import { countMend, settleLetters } from '../domain/progress.ts'
import { mergeReceipts } from '../domain/receipts.ts'
import { FingerprintSet } from '../domain/seen.ts'
import type { OpenStream } from '../ports.ts'
import type { SeenWindow, Sighting } from './seen-window.ts'
import type { Session } from './session.ts'

/**
 * Tells which lines that were never committed may be cut although the day can no longer be read: what is seen stands in
 * another part, as what a frozen process left does once others have shipped it. A dead letter is seen and stands nowhere.
 */
export function createLineCheck(
  session: Session,
  seen: SeenWindow,
): (identities: readonly Identity[]) => Promise<boolean> {
  const kept = new FingerprintSet()
  return async (identities) => {
    const { letters, others } = await partLetters(session, identities)
    const unseen = await seen.unseenOf(others.map(seenAs))
    const found = [...letters.map(seenAs), ...unseen].filter(({ fingerprint }) => kept.add(fingerprint))
    return found.length > 0
  }
}

/**
 * Lines of a day that can no longer be read and that were never committed: they stay, and become seen. Those among them
 * that are seen already stand twice in the files and once in the ledger. A line of a dead letter is what a killed replay
 * wrote: its letter goes, or the next replay would write it again.
 */
export async function adoptLines(session: Session, open: OpenStream, seen: SeenWindow): Promise<void> {
  if (open.adopted === undefined) return
  const { identities, receipts } = open.adopted
  const { letters, others } = await partLetters(session, identities)
  const unseen = await seen.unseenOf(others.map(seenAs))
  const before = countMend(session.checkpoint())
  const next = { ...before, receipts: mergeReceipts(before.receipts, receipts) }
  const removed = { seen: seen.pack(unseen), removedLetters: letters }
  await session.commit(settleLetters(next, { delivered: letters.length }), removed)
  seen.add(unseen)
}

async function partLetters(
  { deps, job }: Session,
  identities: readonly Identity[],
): Promise<{ letters: Identity[]; others: readonly Identity[] }> {
  const keys = identities.length === 0 ? [] : await deps.store.deadLetterKeys(job.stream)
  if (keys.length === 0) return { letters: [], others: identities }
  const letters = new Map(keys.map((key) => [fingerprintOf(key), key]))
  const found = new Map<bigint, Identity>()
  const others = identities.filter((identity) => {
    const letter = letters.get(fingerprintOf(identity))
    if (letter !== undefined) found.set(fingerprintOf(letter), letter)
    return letter === undefined
  })
  return { letters: [...found.values()], others }
}

/** How seen knows an event of which only the identity is left. */
export function seenAs(identity: Identity): Sighting {
  const fingerprint = fingerprintOf(identity)
  const timeMs = identity.time === undefined ? NaN : Date.parse(identity.time)
  return Number.isNaN(timeMs) ? { fingerprint } : { fingerprint, timeMs }
}
