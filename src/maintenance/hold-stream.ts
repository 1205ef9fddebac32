import { retryWhileHeld, type RetryWhileHeld } from '../domain/retry.ts'
import { unknownOrdering } from '../domain/scan/ordering.ts'
import type { Stream, Zone } from '../domain/stream.ts'
import { packSightings, seenAs } from '../pump/seen-window.ts'
import { takeStream, type PumpDeps, type Session, type TakeJob } from '../pump/session.ts'

/** A stream that is changed outside of its pumps. */
export interface HeldStream {
  readonly stream: Stream
  readonly zone: Zone
}

/** The job of one who works on a stream between its pumps: one page at most. */
export function shortJob<On extends HeldStream>(on: On): On & TakeJob {
  return { ...on, priority: 'backfill', ordering: unknownOrdering, mayGoOn: () => false }
}

/**
 * Takes the fence of a stream for one piece of work, which may be repeated from its start: it waits and tries again while
 * another process holds the stream, and when one has taken it over. Throws the Failures of the store and of the work.
 */
export function holdStream<Result>(
  on: HeldStream,
  deps: PumpDeps & Pick<RetryWhileHeld, 'patienceMs'>,
  work: (session: Session) => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  const job = shortJob(on)
  return retryWhileHeld(
    async () => {
      await using session = await takeStream(job, deps)
      return await work(session)
    },
    deps,
    signal,
  )
}

/**
 * Commits a new checkpoint for a past day whose checkpoint was dropped, with its committed lengths and ledger; its dead
 * letters were kept. The new one has the dead letters in its ledger. With `isOver` the stream is ended, so that no pump
 * scans it.
 */
export async function beginAnew(session: Session, { isOver }: { readonly isOver: boolean }): Promise<void> {
  const fresh = session.checkpoint()
  if (fresh.commit > 0) return
  const { job, deps, now } = session
  const keys = await deps.store.deadLetters.keys(job.stream)
  await session.commit(
    {
      ...fresh,
      counters: { ...fresh.counters, deadLetters: keys.length },
      ...(isOver && { ended: { as: 'complete', atMs: now() } }),
    },
    { seen: packSightings(keys.map(seenAs)) },
  )
}
