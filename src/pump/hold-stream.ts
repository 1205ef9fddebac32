import type { Checkpoint } from '../domain/checkpoint.ts'
import { newCheckpoint } from '../domain/progress.ts'
import { isReadable } from '../domain/stream-state.ts'
import type { OpenStream } from '../ports.ts'
import { adoptLines, createLineCheck } from './adopt.ts'
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
  const taken = await deps.store.take(job.stream, deps.holder)
  try {
    const checkpoint = taken.checkpoint ?? freshCheckpoint(job, deps)
    return await work(createSession(job, deps, { fence: taken.fence, checkpoint }), taken.storeId)
  } finally {
    // A lost release costs the next pump a wait; it must not hide why this one ended.
    await deps.store.release(job.stream, taken.fence).catch(() => undefined)
  }
}

function freshCheckpoint({ stream, zone, trust }: HeldJob, { apiClock }: PumpDeps): Checkpoint {
  return newCheckpoint(stream, apiClock.now(zone.account), trust)
}

/** What work on a stream goes to. */
export interface SinkTarget {
  readonly open: OpenStream
  readonly seen: SeenWindow
}

/** Whether the store knows of an event that the sink of a stream has taken. The stream itself tells it best. */
async function hasSinkTaken({ checkpoint, deps, job }: Session): Promise<boolean> {
  if (checkpoint().counters.delivered > 0) return true
  const checkpoints = await deps.store.list()
  return checkpoints.some(({ stream, counters }) => stream.sink === job.stream.sink && counters.delivered > 0)
}

/** Opens the sink for a held stream, which brings what it holds back to the receipts; then works with it. */
export async function withSink<Result>(
  session: Session,
  storeId: string,
  signal: AbortSignal,
  work: (target: SinkTarget) => Promise<Result>,
  { hasTaken = () => hasSinkTaken(session) } = {},
): Promise<Result> {
  const { deps, job, checkpoint, confirm, now, policy } = session
  const { ended, receipts } = checkpoint()
  // What a stream that has ended would lose is not read again either.
  const readable = ended === undefined && isReadable(job.stream.day, now() + hardlyReadableMs, policy)
  const seen = createSeenWindow(deps.store, job.stream)
  const standOnlyHere = createLineCheck(session, seen)
  const options = { storeId, receipts, readable, standOnlyHere, confirm, hasTaken }
  const open = await job.sink.open(job.stream, options, signal)
  try {
    await adoptLines(session, open, seen)
    return await work({ open, seen })
  } finally {
    await open.close()
  }
}
