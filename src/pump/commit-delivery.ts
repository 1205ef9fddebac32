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

/** A delivery, and what of the events lies in the object that it met. */
export type Delivered = Awaited<ReturnType<typeof deliver>>

/** The only call of a sink with events to ship. A partial delivery is returned, but fails its span. */
export async function deliver(
  session: Session,
  { open, seen, sink }: SinkTarget,
  events: readonly Event[],
  signal: AbortSignal,
  goesOn = false,
) {
  const { deps, job } = session
  const facts = { ...spanFacts(job), server: sink.address, events: events.length }
  const delivery = await deps.tracer.span('deliver', facts, async (note) => {
    const answer = await open.deliver(events, signal, goesOn)
    const { failure } = answer.partial ?? {}
    // A delivery that was stopped on purpose has no error.
    if (failure !== undefined && failure.kind !== 'cancelled') note({ outcome: failure.code })
    return answer
  })
  const { adopted } = delivery.object ?? {}
  if (adopted === undefined) return { delivery }
  const object = new FingerprintSet()
  for (const bytes of adopted.values()) object.addPacked(bytes)
  const holds = (event: Sighting) => isHeldIn([object], event)
  const deadLetters = await deps.store.deadLetters.keys(job.stream)
  const partial: Delivery['partial'] = { taken: events.filter(holds) }
  return {
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

/**
 * The only path from a delivery to the store: commits in one step what the sink has taken, refused and skipped, as
 * `settle` says. When the delivery failed part way, or the store has no room for its dead letters, commits what is
 * certain, so that no retry delivers it again, and returns the failure for the caller to throw.
 */
export async function commitDelivery<
  Settled extends { readonly next: Checkpoint; readonly extras: CommitExtras },
>(
  session: Session,
  events: readonly Event[],
  delivery: Delivery,
  settle: (outcome: DeliveryOutcome) => Settled,
): Promise<{ outcome: DeliveryOutcome; settled: Settled; failure: Failure | undefined }> {
  const { partial, refusals, skipped = [], lost = 0, object } = delivery
  const outcome = { taken: takenOf(events, delivery), refusals, skipped, lost }
  const settled = settle(outcome)
  try {
    await session.commit(settled.next, { ...settled.extras, object })
    return { outcome, settled, failure: partial?.failure }
  } catch (failure) {
    if (!isFailure(failure, 'dead_letters_full')) throw failure
    const certain = { ...outcome, refusals: [] }
    const rest = settle(certain)
    await session.commit(rest.next, { ...rest.extras, object, deadLetters: [] })
    return { outcome: certain, settled: rest, failure }
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
