import { isReadable } from '../domain/plan/stream-state.ts'
import type { LastCopies, OpenStream, Reconciliation } from '../ports/sink.ts'
import { createLastCopies } from './last-copies.ts'
import { createSeenWindow, type SeenWindow } from './seen-window.ts'
import type { Session } from './session.ts'

/** A day that becomes unreadable so soon may not be read again: what its files hold is not cut any more. */
const hardlyReadableMs = 60_000

/** What work on a stream goes to, until it is disposed of. */
export interface SinkTarget extends AsyncDisposable {
  readonly open: OpenStream
  readonly seen: SeenWindow
}

/** Opens the sink of a stream, which brings what it holds back to the committed lengths. Throws Failure. */
export async function openSink(
  session: Session,
  signal: AbortSignal,
  { hasTaken = () => hasSinkTaken(session) } = {},
): Promise<SinkTarget> {
  const { sink, stream } = session.job
  const seen = createSeenWindow(session.deps.store.ledger, stream)
  const open =
    'reconcile' in sink
      ? await sink.reconcile(stream, reconciliation(session, createLastCopies(session, seen)), signal)
      : await sink.open(stream, { hasTaken }, signal)
  return { open, seen, [Symbol.asyncDispose]: () => open.close() }
}

/** Whether the store knows of an event that the sink of a stream has taken. The stream itself tells it best. */
async function hasSinkTaken({ checkpoint, deps, job }: Session): Promise<boolean> {
  if (checkpoint().counters.delivered > 0) return true
  const checkpoints = await deps.store.catalogue.checkpoints()
  return checkpoints.some(({ stream, counters }) => stream.sink === job.stream.sink && counters.delivered > 0)
}

function reconciliation(session: Session, lastCopies: LastCopies): Reconciliation {
  const { checkpoint, confirm, job, now, policy, storeId } = session
  const { ended, committed } = checkpoint()
  // A stream that has ended is not scanned again, so what is cut off it would not come back either.
  const isRead = ended === undefined && isReadable(job.stream.day, now() + hardlyReadableMs, policy)
  return { storeId, committed, confirm, ...(!isRead && { lastCopies }) }
}
