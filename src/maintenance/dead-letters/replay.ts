import type { Event, Identity } from '../../domain/event/event.ts'
import { cancelled, isFailure, messageOf, type Failure } from '../../domain/failure.ts'
import type { Stream, Zone } from '../../domain/stream.ts'
import { isReadable } from '../../domain/plan/stream-state.ts'
import type { AnySink } from '../../ports/delivery.ts'
import { beginAnew, holdStream } from '../hold-stream.ts'
import { openSink, type SinkTarget } from '../../pump/open-sink.ts'
import type { PumpDeps, Session } from '../../pump/session.ts'
import { mergeCommitted, type DeadLetter, type Refusal, type Skip } from '../../domain/event/delivery.ts'
import { settleDeadLetters } from '../../domain/checkpoint.ts'
import { restoreEvent } from '../../domain/event/stored-event.ts'
import { commitDelivery, deliver, type Change, type DeliveryOutcome } from '../../pump/commit-delivery.ts'

interface ReplayJob {
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
  const keys = job.keys.toSorted(byTime)
  for (let from = 0; from < keys.length;) {
    if (signal.aborted) throw cancelled(signal.reason)
    const rest = keys.slice(from)
    const page = await holdStream(
      { stream, zone },
      deps,
      async (session) => {
        await beginAnew(session, { isOver: !isReadable(stream.day, session.now(), session.policy) })
        // An event that is refused once more stays a dead letter, whatever the sink has taken before.
        await using target = await openSink(session, sink, signal, { refusalsStand: true })
        return await replayPage(session, target, { keys: rest, redo }, signal)
      },
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

/** The result for one page of dead letters. */
export interface ReplayedPage {
  /** How many of the keys were tried, from the first on. */
  readonly tried: number
  readonly delivered: number
  /** Those that were refused again, as they are kept now. */
  readonly kept: readonly DeadLetter[]
  /** Why the other events of these keys were not delivered. */
  readonly failure?: Failure
}

const mostDeadLetters = 100
const deadLettersAtOnce = 10
const mostBytes = 1_048_576

/**
 * Delivers the first of these dead letters again, as a page of its own, and commits in one step which of them the sink
 * has taken. Skips dead letters that no longer exist (dropped, or replayed by another process).
 */
async function replayPage(
  session: Session,
  target: SinkTarget,
  { keys, redo }: { readonly keys: readonly Identity[]; readonly redo: (event: Event) => Event },
  signal: AbortSignal,
): Promise<ReplayedPage> {
  const { deadLetters, tried } = await loadDeadLetters(session, keys)
  if (deadLetters.length === 0) return { tried, delivered: 0, kept: [] }
  const damaged: DeadLetter[] = []
  const letterOf = new Map<Event, DeadLetter>()
  for (const deadLetter of deadLetters) {
    try {
      letterOf.set(redo(restoreEvent(deadLetter.event)), deadLetter)
    } catch (error) {
      // One that cannot be read is kept, with the reason.
      damaged.push({ ...deadLetter, reason: 'unmappable', answer: messageOf(error).slice(0, 1024) })
    }
  }
  const events = [...letterOf.keys()]
  const delivery = await deliver(session, target, events, signal)
  const at = session.now()
  const keptOf = (refusals: readonly Refusal[], skipped: readonly Skip[] = []): DeadLetter[] => {
    const refused = [...refusals, ...skipped].map(({ event, reason, answer }) => {
      const deadLetter = letterOf.get(event)
      if (deadLetter === undefined) throw new Error('a sink refused an event that it was not given')
      // A person decides about an event that has become too old meanwhile: it stays, with its reason and the new answer.
      return { ...deadLetter, ...(reason !== 'too_old' && { reason }), answer }
    })
    return [...damaged, ...refused].map((deadLetter) => ({ ...deadLetter, at }))
  }
  const change = ({ taken, lost }: DeliveryOutcome, deadLetters: readonly DeadLetter[]): Change => {
    const before = session.checkpoint()
    const committed = mergeCommitted(before.committed, delivery.committed)
    return {
      next: settleDeadLetters({ ...before, committed }, { delivered: taken.length, lost }),
      extras: { removedDeadLetters: taken.map((event) => keyOf(letterOf.get(event)!)), deadLetters },
    }
  }
  const { failure, ...outcome } = await commitDelivery(session, {
    events,
    delivery,
    whole: (all) => change(all, keptOf(all.refusals, all.skipped)),
    part: (some) => change(some, some.refusals.length === 0 ? [] : keptOf(some.refusals, some.skipped)),
  })
  const kept = keptOf(delivery.refusals, delivery.skipped)
  const page = { tried, delivered: outcome.taken.length, kept }
  // A new answer that exceeds the limit does not end the replay: the older dead letter stays.
  return failure === undefined || isFailure(failure, 'dead_letters_full') ? page : { ...page, failure }
}

async function loadDeadLetters(
  { deps, job }: Session,
  keys: readonly Identity[],
): Promise<{ deadLetters: DeadLetter[]; tried: number }> {
  const deadLetters: DeadLetter[] = []
  let [tried, bytes] = [0, 0]
  while (tried < keys.length && tried < mostDeadLetters && bytes < mostBytes) {
    const some = keys.slice(tried, tried + deadLettersAtOnce)
    for (const deadLetter of await deps.store.deadLetters.read(job.stream, some)) {
      deadLetters.push(deadLetter)
      bytes += deadLetter.event.length
    }
    tried += some.length
  }
  return { deadLetters, tried }
}

export function keyOf({ id, time }: Identity): Identity {
  return { id, ...(time !== undefined && { time }) }
}
