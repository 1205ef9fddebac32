import { isReadable } from '../domain/plan/stream-state.ts'
import type { LastCopies, OpenStream, Reconciliation } from '../ports/delivery.ts'
import { createLastCopies } from './last-copies.ts'
import { createSeenWindow, type SeenWindow } from './seen-window.ts'
import type { Session } from './session.ts'

/** A day that becomes unreadable this soon may not be read again: its files are no longer cut. */
const hardlyReadableMs = 60_000

/** The open sink of a stream, and the stream's seen window. Disposing of it closes the sink. */
export interface SinkTarget extends AsyncDisposable {
  readonly open: OpenStream
  readonly seen: SeenWindow
}

/** Opens the sink of a stream; a transactional sink goes back to its committed lengths first. Throws Failure. */
export async function openSink(
  session: Session,
  signal: AbortSignal,
  { refusalsStand = false } = {},
): Promise<SinkTarget> {
  const { sink, stream } = session.job
  const { store, seenMemory } = session.deps
  const seen = createSeenWindow(store.ledger, stream, seenMemory)
  try {
    const open =
      'reconcile' in sink
        ? await sink.reconcile(stream, reconciliation(session, createLastCopies(session, seen)), signal)
        : await sink.open(stream, { hasTaken: () => hasSinkTaken(session), refusalsStand }, signal)
    return {
      open,
      seen,
      async [Symbol.asyncDispose]() {
        seen.close()
        await open.close()
      },
    }
  } catch (error) {
    seen.close()
    throw error
  }
}

/** Whether the store knows of an event that the stream's sink has taken. Checks the stream's own checkpoint first. */
async function hasSinkTaken({ checkpoint, deps, job }: Session): Promise<boolean> {
  if (checkpoint().counters.delivered > 0) return true
  const checkpoints = await deps.store.catalogue.checkpoints()
  return checkpoints.some(({ stream, counters }) => stream.sink === job.stream.sink && counters.delivered > 0)
}

function reconciliation(session: Session, lastCopies: LastCopies): Reconciliation {
  const { checkpoint, confirm, job, now, policy, storeId } = session
  const { ended, committed } = checkpoint()
  // A stream that has ended is not scanned again, so events of lines that are cut would not come back.
  const isRead = ended === undefined && isReadable(job.stream.day, now() + hardlyReadableMs, policy)
  return { storeId, committed, confirm, ...(!isRead && { lastCopies }) }
}
