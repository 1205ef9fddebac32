import type { Identity } from '../domain/event.ts'
import { fingerprintOf } from '../domain/fingerprint.ts'
import { mergeReceipts } from '../domain/progress.ts'
import type { OpenStream } from '../ports.ts'
import type { SeenWindow } from './seen-window.ts'
import type { Session } from './session.ts'

/**
 * Lines of a day that can no longer be read and that were never committed: they stay, and become seen. Those that are
 * seen already stand twice in the files and once in the ledger.
 */
export async function adoptLines(session: Session, open: OpenStream, seen: SeenWindow): Promise<void> {
  if (open.adopted === undefined) return
  const { identities, receipts } = open.adopted
  const unseen = await seen.unseenOf(identities.map(seenAs))
  const before = session.checkpoint()
  const next = { ...before, receipts: mergeReceipts(before.receipts, receipts) }
  await session.commit(next, { seen: seen.pack(unseen) })
  seen.add(unseen)
}

function seenAs(identity: Identity): { fingerprint: bigint; timeMs?: number } {
  const fingerprint = fingerprintOf(identity)
  const timeMs = identity.time === undefined ? NaN : Date.parse(identity.time)
  return Number.isNaN(timeMs) ? { fingerprint } : { fingerprint, timeMs }
}
