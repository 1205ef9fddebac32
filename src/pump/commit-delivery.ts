import type { Checkpoint } from '../domain/checkpoint.ts'
import { takenOf, type DeadLetter, type Delivery, type Refusal, type Skip } from '../domain/event/delivery.ts'
import type { Event } from '../domain/event/event.ts'
import { fingerprintOf } from '../domain/event/fingerprint.ts'
import { FingerprintSet } from '../domain/event/seen.ts'
import { isFailure, type Failure } from '../domain/failure.ts'
import { onlyStream } from '../domain/stream.ts'
import { jsonText } from '../domain/text/json.ts'
import type { SinkTarget } from './open-sink.ts'
import { isHeldIn, type Sighting } from './seen-window.ts'
import { spanFacts, type CommitExtras, type Session } from './session.ts'

/** Events, the sink's answer to them, and what of them lies in the object that it met. */
export type Delivered = Awaited<ReturnType<typeof deliver>>

/** The only call of a sink with events to ship. A partial delivery is returned, but fails its span. */
export async function deliver(
  session: Session,
  { open, seen, sink }: Pick<SinkTarget, 'open' | 'seen' | 'sink'>,
  events: readonly Event[],
  signal: AbortSignal,
  goesOn = false,
) {
  const { deps, job } = session
  const opened = await open()
  const facts = { ...spanFacts(job), server: sink.address, events: events.length }
  const delivery = await deps.tracer.span('deliver', facts, async (note) => {
    const answer = await opened.deliver(events, signal, goesOn)
    const { failure } = answer.partial ?? {}
    // A delivery that was stopped on purpose has no error.
    if (failure !== undefined && failure.kind !== 'cancelled') note({ outcome: failure.code })
    return answer
  })
  const { adopted } = delivery.object ?? {}
  if (adopted === undefined) return { events, delivery }
  const object = new FingerprintSet()
  for (const bytes of adopted.values()) object.addPacked(bytes)
  const holds = (event: Sighting) => isHeldIn([object], event)
  const deadLetters = await deps.store.deadLetters.keys(job.stream)
  const partial: Delivery['partial'] = { taken: events.filter(holds) }
  return {
    events,
    delivery: { ...delivery, partial },
    /** What an object that an earlier try has written changes in its stream. */
    adoption: {
      /** Those of its events that the stream has not seen, whether this load has them or not. */
      unseen: await seen.unseenIn(adopted),
      /** Dead letters whose events it holds: the earlier try was a replay. */
      deadLetters: deadLetters.filter((identity) => object.has(fingerprintOf(identity))),
      /** Whether it holds an event, under either form of its id. */
      holds,
    },
  }
}

/** What became of the events of a delivery. Events in none of the lists must be delivered again. */
export interface DeliveryOutcome {
  readonly taken: readonly Event[]
  readonly refusals: readonly Refusal[]
  /** Of the events in `taken`, those that the destination says it dropped, without saying which. */
  readonly lost: number
  readonly skipped: readonly Skip[]
}

export function outcomeOf({ events, delivery }: Delivered): DeliveryOutcome {
  const { refusals, skipped = [], lost = 0 } = delivery
  return { taken: takenOf(events, delivery), refusals, skipped, lost }
}

/** What became of a delivery, as it is committed. */
interface Settled {
  readonly next: Checkpoint
  readonly extras: CommitExtras
}

/**
 * The only path from a delivery to the store: commits in one step what the sink has taken, refused and skipped. Where the
 * store has no room for its dead letters, commits what is certain without them, so that no retry delivers it again.
 * Returns which of the two it was, and the failure for the caller to throw, also that of a partial delivery.
 */
export async function commitDelivery<Either extends Settled>(
  session: Session,
  { partial, object }: Delivery,
  whole: Either,
  certain: Either,
): Promise<{ settled: Either; failure: Failure | undefined }> {
  try {
    await session.commit(whole.next, { ...whole.extras, object })
    return { settled: whole, failure: partial?.failure }
  } catch (failure) {
    if (!isFailure(failure, 'dead_letters_full')) throw failure
    await session.commit(certain.next, { ...certain.extras, object })
    return { settled: certain, failure }
  }
}

export function deadLettersOf({ job }: Session, refusals: readonly Refusal[], at: number): DeadLetter[] {
  return refusals.map(({ event, reason, answer }) => ({
    ...onlyStream(job.stream),
    id: event.id,
    ...(event.time !== undefined && { time: event.time }),
    reason,
    answer,
    at,
    event: jsonText(event.raw()),
  }))
}
