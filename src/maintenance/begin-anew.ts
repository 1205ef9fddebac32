import { seenAs } from '../pump/last-copies.ts'
import { createSeenWindow } from '../pump/seen-window.ts'
import type { Session } from '../pump/session.ts'

/**
 * The checkpoint of a day long past is gone, and with it what its committed lengths and its ledger said; its dead letters
 * are not. A new one takes the dead letters into the ledger, and what stands in files by being opened. One that is over has
 * ended: nobody reads it.
 */
export async function beginAnew(session: Session, { isOver }: { readonly isOver: boolean }): Promise<void> {
  const fresh = session.checkpoint()
  if (fresh.commit > 0) return
  const { job, deps, now } = session
  const keys = await deps.store.deadLetters.keys(job.stream)
  const seen = createSeenWindow(deps.store.ledger, job.stream)
  await session.commit(
    {
      ...fresh,
      counters: { ...fresh.counters, deadLetters: keys.length },
      ...(isOver && { ended: { as: 'complete', atMs: now() } }),
    },
    { seen: seen.pack(keys.map(seenAs)) },
  )
}
