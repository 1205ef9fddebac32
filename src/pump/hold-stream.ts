import type { Checkpoint } from '../domain/checkpoint.ts'
import { newCheckpoint } from '../domain/scan/progress.ts'
import { isReadable } from '../domain/plan/stream-state.ts'
import type { LastCopies, OpenStream, Reconciliation } from '../ports/sink.ts'
import { createLastCopies } from './last-copies.ts'
import { createSeenWindow, type SeenWindow } from './seen-window.ts'
import { createSession, type PumpDeps, type PumpJob, type Session } from './session.ts'

/** A day that becomes unreadable so soon may not be read again: what its files hold is not cut any more. */
const hardlyReadableMs = 60_000

/** What a session needs of its job besides the sink. */
export type HeldJob = Omit<PumpJob, 'sink'>

/** Work under a stream's fence. Throws `held` while another process has it, and the Failures of a store. */
export async function withStream<Job extends HeldJob, Result>(
  job: Job,
  deps: PumpDeps,
  work: (session: Session<Job>, storeId: string) => Promise<Result>,
): Promise<Result> {
  const taken = await deps.store.ledger.take(job.stream, deps.holder)
  try {
    const checkpoint = taken.checkpoint ?? freshCheckpoint(job, deps)
    return await work(createSession(job, deps, { fence: taken.fence, checkpoint }), taken.storeId)
  } finally {
    // A lost release costs the next pump a wait; it must not hide why this one ended.
    await deps.store.ledger.release(job.stream, taken.fence).catch(() => undefined)
  }
}

function freshCheckpoint({ stream, zone, ordering }: HeldJob, { apiClock }: PumpDeps): Checkpoint {
  return newCheckpoint(stream, apiClock.now(zone.account), ordering)
}

/** What work on a stream goes to. */
export interface SinkTarget {
  readonly open: OpenStream
  readonly seen: SeenWindow
}

/** Whether the store knows of an event that the sink of a stream has taken. The stream itself tells it best. */
async function hasSinkTaken({ checkpoint, deps, job }: Session): Promise<boolean> {
  if (checkpoint().counters.delivered > 0) return true
  const checkpoints = await deps.store.catalogue.checkpoints()
  return checkpoints.some(({ stream, counters }) => stream.sink === job.stream.sink && counters.delivered > 0)
}

/** Opens the sink for a held stream, which brings what it holds back to the committed lengths; then works with it. */
export async function withSink<Result>(
  session: Session,
  storeId: string,
  signal: AbortSignal,
  work: (target: SinkTarget) => Promise<Result>,
  { hasTaken = () => hasSinkTaken(session) } = {},
): Promise<Result> {
  const { sink, stream } = session.job
  const seen = createSeenWindow(session.deps.store.ledger, stream)
  const open =
    'reconcile' in sink
      ? await sink.reconcile(
          stream,
          reconciliation(session, storeId, createLastCopies(session, seen)),
          signal,
        )
      : await sink.open(stream, { hasTaken }, signal)
  try {
    return await work({ open, seen })
  } finally {
    await open.close()
  }
}

function reconciliation(session: Session, storeId: string, lastCopies: LastCopies): Reconciliation {
  const { checkpoint, confirm, job, now, policy } = session
  const { ended, committed } = checkpoint()
  // A stream that has ended is not scanned again, so what is cut off it would not come back either.
  const isRead = ended === undefined && isReadable(job.stream.day, now() + hardlyReadableMs, policy)
  return { storeId, committed, confirm, ...(!isRead && { lastCopies }) }
}
