import { endOf, startOf } from '../domain/day.ts'
import { committedLengths } from '../domain/checkpoint.ts'
import { isReadable } from '../domain/plan/stream-state.ts'
import type { AnySink, NumberedObjects, OpenStream, Reconciliation } from '../ports/delivery.ts'
import { SeenWindow } from './seen-window.ts'
import type { Session } from './session.ts'

/** A day that becomes unreadable this soon may not be read again: its files are no longer cut. */
const hardlyReadableMs = 60_000

export type SinkTarget = ReturnType<typeof targetOf>

/**
 * The sink of a stream, which is opened once there is something for it, and the stream's seen window. Disposing of it
 * closes the sink.
 */
export function targetOf(
  session: Session,
  sink: AnySink,
  signal: AbortSignal,
  { refusalsStand = false } = {},
) {
  const { stream, zone, readRequest } = session.job
  // What replays and archives ship was read before.
  const isRead = !refusalsStand && readRequest?.source === undefined
  const options = {
    hasTaken: () => hasSinkTaken(session),
    refusalsStand,
    objects: objectsOf(session),
    ...(isRead && { ageNow: () => session.deps.apiClock.earliest(zone.account) }),
  }
  let opening: Promise<OpenStream> | undefined
  const seen = new SeenWindow(session.loadSeen, session.deps.seenMemory)
  return {
    sink,
    seen,
    /** Opens the sink, once; a transactional one goes back to its committed lengths first. Throws Failure. */
    open(): Promise<OpenStream> {
      opening ??=
        'reconcile' in sink
          ? sink.reconcile(stream, reconciliation(session), signal)
          : sink.open(stream, options, signal)
      return opening
    },
    async [Symbol.asyncDispose]() {
      seen[Symbol.dispose]()
      const open = await opening?.catch(() => undefined)
      await open?.close()
    },
  }
}

/**
 * Whether a pump opens its sink before it reads. Lines without a commit are those of events that the next scan finds
 * unseen, so a poll need not look for them. It does where it is the first one of this process, where a person asks, and
 * after a failure, so that a sink that is down costs the API no requests.
 */
export function opensFirst({ checkpoint, deps, job }: Session): boolean {
  if (job.readRequest !== undefined || checkpoint().trouble !== undefined) return true
  return deps.latestPages?.has(job.stream) !== true
}

/** Read anew for each delivery: nothing but the store knows the last number. */
function objectsOf({ checkpoint, confirm, deps, job, storeId }: Session): NumberedObjects {
  return {
    storeId,
    last: () => checkpoint().objects?.last ?? 0,
    confirm,
    async wasNamed(former) {
      const sinks = await deps.store.catalogue.sinks()
      return sinks.some(({ name, formerly }) => name === job.stream.sink && formerly.includes(former))
    },
  }
}

/** Whether the store knows of an event that the stream's sink has taken. Checks the stream's own checkpoint first. */
async function hasSinkTaken({ checkpoint, deps, job }: Session): Promise<boolean> {
  if (checkpoint().counters.delivered > 0) return true
  const checkpoints = await deps.store.catalogue.checkpoints()
  return checkpoints.some(({ stream, counters }) => stream.sink === job.stream.sink && counters.delivered > 0)
}

function reconciliation(session: Session): Reconciliation {
  const { checkpoint, confirm, job, now, policy, storeId } = session
  const state = { ...committedLengths(storeId, checkpoint()), confirm }
  // A stream that has ended is not scanned again, so events of lines that are cut do not come back.
  const isRead =
    checkpoint().ended === undefined && isReadable(job.stream.day, now() + hardlyReadableMs, policy)
  return isRead ? state : { ...state, unreadable: { lost: (copy) => recordCut(session, copy) } }
}

/**
 * A gap names the copy of lines that are about to be cut, since no scan reads their events again. None on a complete day,
 * whose last scan has shipped all events, those of such lines too, and none for a pump that ships an archive, which has
 * them.
 */
async function recordCut({ checkpoint, commit, deps, job, now }: Session, file: string): Promise<void> {
  if (checkpoint().ended?.as === 'complete' || job.readRequest?.source === 'archive') return
  const { zone, day, sink } = job.stream
  const span = { from: startOf(day), to: endOf(day) }
  const gap = { zone, day, sink, ...span, reason: 'unreadable', recordedAt: now(), files: [file] } as const
  await commit(checkpoint(), { gaps: [gap] })
  deps.telemetry.emit({ name: 'GapFound', gap })
}
