import type { Event, Identity } from '../../domain/event/event.ts'
import { cancelled } from '../../domain/failure.ts'
import type { Stream, Zone } from '../../domain/stream.ts'
import { isReadable } from '../../domain/plan/stream-state.ts'
import { unknownOrdering } from '../../domain/scan/ordering.ts'
import type { AnySink } from '../../ports/delivery.ts'
import { beginAnew } from '../begin-anew.ts'
import { openSink } from '../../pump/open-sink.ts'
import { takeStream } from '../../pump/take-stream.ts'
import { retryWhileHeld } from '../../domain/retry.ts'
import { replayPage, type ReplayedPage } from './replay-page.ts'
import type { PumpDeps, PumpJob } from '../../pump/session.ts'

export interface ReplayJob {
  readonly stream: Stream
  readonly zone: Zone
  readonly sink: AnySink
  /** The dead letters to try. */
  readonly keys: readonly Identity[]
  /** Maps a stored event by the present configuration. */
  readonly redo: (event: Event) => Event
  /** Called after each page. */
  readonly done: (page: ReplayedPage) => void
}

/** Pause between two pages, so that a running process can take the stream. */
const betweenMs = 20

/**
 * Delivers dead letters of a stream again, the oldest event first, each once: takes the fence for one page at a time,
 * so that a stop at any moment leaves every dead letter either kept or delivered. Throws the Failures of the sink and
 * the store; earlier pages stay delivered.
 */
export async function replayStream(job: ReplayJob, deps: PumpDeps, signal: AbortSignal): Promise<void> {
  const { stream, zone, sink, redo, done } = job
  const held: PumpJob = {
    stream,
    zone,
    sink,
    priority: 'backfill',
    ordering: unknownOrdering,
    mayGoOn: () => false,
  }
  const keys = job.keys.toSorted(byTime)
  for (let from = 0; from < keys.length;) {
    if (signal.aborted) throw cancelled(signal.reason)
    const rest = keys.slice(from)
    const page = await retryWhileHeld(
      async () => {
        await using session = await takeStream(held, deps)
        await beginAnew(session, { isOver: !isReadable(stream.day, session.now(), session.policy) })
        // An event that is refused once more stays a dead letter, whatever the sink has taken before.
        await using target = await openSink(session, signal, { refusalsStand: true })
        return await replayPage(session, target, { keys: rest, redo }, signal)
      },
      deps,
      signal,
    )
    from += page.tried
    done(page)
    if (page.failure !== undefined) throw page.failure
    if (from < keys.length) await deps.clock.sleep(betweenMs, signal)
  }
}

/** A fixed order: the same dead letters give the same bodies again. */
function byTime(left: Identity, right: Identity): number {
  const [one, other] = [`${left.time ?? ''} ${left.id}`, `${right.time ?? ''} ${right.id}`]
  return one < other ? -1 : one > other ? 1 : 0
}
