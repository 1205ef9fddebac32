import type { Checkpoint } from '../domain/checkpoint.ts'
import { takenOf, type DeadLetter, type Delivery, type Refusal } from '../domain/event/delivery.ts'
import type { Event } from '../domain/event/event.ts'
import { isFailure, type Failure } from '../domain/failure.ts'
import { storeEvent } from '../domain/event/stored-event.ts'
import type { CommitExtras, Session } from './session.ts'

/** What became of the events that a sink was given. The others are to be delivered again. */
export interface Outcome {
  readonly taken: readonly Event[]
  readonly refusals: readonly Refusal[]
}

/** What an outcome changes in the store. */
export interface Change {
  readonly next: Checkpoint
  readonly extras: CommitExtras
}

export interface DeliveryCommit {
  /** What the sink was given. */
  readonly events: readonly Event[]
  readonly delivery: Delivery
  /** The change where the outcome tells of every event. */
  readonly whole: (outcome: Outcome) => Change
  /** The change where events are to be delivered again: no cursor moves. */
  readonly part: (outcome: Outcome) => Change
}

/**
 * The one way from a delivery to the store: writes down in one step what the sink has taken and what it has refused.
 * Where the delivery failed on its way, or its dead letters find no room, it writes down what is certain, so that this
 * is not delivered again with each new try, and returns the failure beside it for the caller to throw.
 */
export async function commitDelivery(
  session: Session,
  { events, delivery, whole, part }: DeliveryCommit,
): Promise<Outcome & { readonly failure?: Failure }> {
  const outcome: Outcome = { taken: takenOf(events, delivery), refusals: delivery.refusals }
  const { partial } = delivery
  const write = ({ next, extras }: Change) => session.commit(next, extras)
  try {
    await write(partial === undefined ? whole(outcome) : part(outcome))
    return partial === undefined ? outcome : { ...outcome, failure: partial.failure }
  } catch (failure) {
    if (!isFailure(failure, 'dead_letters_full')) throw failure
    const certain: Outcome = { taken: outcome.taken, refusals: [] }
    if (certain.taken.length > 0) await write(part(certain))
    return { ...certain, failure }
  }
}

/** What the sink refused, as the store keeps it. */
export function deadLettersOf({ job }: Session, refusals: readonly Refusal[], at: number): DeadLetter[] {
  return refusals.map(({ event, reason, answer }) => ({
    ...job.stream,
    id: event.id,
    ...(event.time !== undefined && { time: event.time }),
    reason,
    answer,
    at,
    event: storeEvent(event),
  }))
}
