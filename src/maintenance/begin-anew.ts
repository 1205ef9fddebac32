import { seenAs } from '../pump/seen-window.ts'
import { createSeenWindow } from '../pump/seen-window.ts'
import type { Session } from '../pump/session.ts'

/**
 * Commits a new checkpoint for a past day whose checkpoint was pruned, with its committed lengths and ledger; its dead
 * letters were kept. The new one has the dead letters in its ledger; opening the sink adds what the files hold. With
 * `isOver` the stream is ended, so that no pump scans it.
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
