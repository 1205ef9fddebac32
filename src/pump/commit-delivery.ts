import type { Checkpoint } from '../domain/checkpoint.ts'
import { takenOf, type DeadLetter, type Delivery, type Refusal, type Skip } from '../domain/event/delivery.ts'
import type { Event } from '../domain/event/event.ts'
import { isFailure, type Failure } from '../domain/failure.ts'
import { onlyStream } from '../domain/stream.ts'
import { jsonText } from '../domain/text/json-text.ts'
import { adoptObject, type Adoption } from './adopt-object.ts'
import type { SinkTarget } from './open-sink.ts'
import { spanFacts, type CommitExtras, type Session } from './session.ts'

/** A delivery, and what of the events lies in the object that it met. */
export interface Delivered {
  readonly delivery: Delivery
  readonly adoption?: Adoption
}

/** The only call of a sink with events to ship. A partial delivery is returned, but fails its span. */
export async function deliver(
  session: Session,
  target: SinkTarget,
  events: readonly Event[],
  signal: AbortSignal,
  goesOn = false,
): Promise<Delivered> {
  const delivery = await deliverTo(session, target, events, signal, goesOn)
  if (delivery.object?.adopted === undefined) return { delivery }
  const adoption = await adoptObject(session, target, events, delivery.object.adopted)
  return { delivery: { ...delivery, partial: { taken: adoption.taken } }, adoption }
}

async function deliverTo(
  { deps, job }: Session,
  { open, sink }: SinkTarget,
  events: readonly Event[],
  signal: AbortSignal,
  goesOn: boolean,
): Promise<Delivery> {
  const facts = { ...spanFacts(job), server: sink.address, events: events.length }
  let delivery: Delivery | undefined
  try {
    return await deps.tracer.span('deliver', facts, async () => {
      delivery = await open.deliver(events, signal, goesOn)
      if (delivery.partial?.failure !== undefined) throw delivery.partial.failure
      return delivery
    })
  } catch (error) {
    if (delivery?.partial === undefined) throw error
    return delivery
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

/** What an outcome changes in the store. */
export interface Change {
  readonly next: Checkpoint
  readonly extras: CommitExtras
}

interface DeliveryCommit {
  /** Events that the sink was given. */
  readonly events: readonly Event[]
  readonly delivery: Delivery
  /** The change when the outcome covers every event. */
  readonly whole: (outcome: DeliveryOutcome) => Change
  /** The change when some events must be delivered again. */
  readonly part: (outcome: DeliveryOutcome) => Change
}

/**
 * The only path from a delivery to the store: commits in one step what the sink has taken, refused and skipped. When
 * the delivery failed part way, or the store has no room for its dead letters, commits what is certain, so that no
 * retry delivers it again, and returns the failure for the caller to throw.
 */
export async function commitDelivery(
  session: Session,
  { events, delivery, whole, part }: DeliveryCommit,
): Promise<DeliveryOutcome & { readonly failure?: Failure }> {
  const { partial, refusals, skipped = [], lost = 0 } = delivery
  const outcome: DeliveryOutcome = { taken: takenOf(events, delivery), refusals, skipped, lost }
  const write = ({ next, extras }: Change) => session.commit(next, extras)
  try {
    await write(partial === undefined ? whole(outcome) : part(outcome))
    return partial?.failure === undefined ? outcome : { ...outcome, failure: partial.failure }
  } catch (failure) {
    if (!isFailure(failure, 'dead_letters_full')) throw failure
    const certain: DeliveryOutcome = { ...outcome, refusals: [] }
    if (certain.taken.length + skipped.length > 0) await write(part(certain))
    return { ...certain, failure }
  }
}

/** What the sink refused, as dead letters for the store. */
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
