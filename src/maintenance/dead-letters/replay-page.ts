import type { DeadLetter, Refusal } from '../../domain/delivery.ts'
import type { Event, Identity } from '../../domain/event.ts'
import { isFailure, messageOf, type Failure } from '../../domain/failure.ts'
import { settleLetters } from '../../domain/progress.ts'
import { mergeCommitted } from '../../domain/committed-parts.ts'
import { restoreEvent } from '../../domain/stored-event.ts'
import { commitDelivery, type Change, type Outcome } from '../../pump/commit-delivery.ts'
import type { Session } from '../../pump/session.ts'
import type { SinkTarget } from '../../pump/hold-stream.ts'

/** What became of one page of dead letters. */
export interface ReplayedPage {
  /** How many of the keys were looked at, from the first on. */
  readonly tried: number
  readonly delivered: number
  /** Those that were refused again, as they are kept now. */
  readonly kept: readonly DeadLetter[]
  /** Why the others of these keys were not delivered. */
  readonly failure?: Failure
}

const mostLetters = 100
const lettersAtOnce = 10
const mostBytes = 1_048_576

/**
 * Delivers the first of these dead letters again, as a page of its own, and writes down in one step which of them the
 * sink has taken. Those that are there no more (dropped, or replayed by somebody else) are passed over.
 */
export async function replayPage(
  session: Session,
  target: SinkTarget,
  keys: readonly Identity[],
  redo: (event: Event) => Event,
  signal: AbortSignal,
): Promise<ReplayedPage> {
  const { letters, tried } = await loadLetters(session, keys)
  if (letters.length === 0) return { tried, delivered: 0, kept: [] }
  const damaged: DeadLetter[] = []
  const events = new Map<Event, DeadLetter>()
  for (const letter of letters) {
    const event = eventOf(letter, redo)
    if (typeof event === 'string') damaged.push({ ...letter, reason: 'unmappable', answer: event })
    else events.set(event, letter)
  }
  const delivery = await target.open.deliver([...events.keys()], signal)
  const at = session.now()
  const keptOf = (refusals: readonly Refusal[]) =>
    [...damaged, ...refusals.map((refusal) => refusedAgain(refusal, events))].map((letter) => ({
      ...letter,
      at,
    }))
  const change = ({ taken }: Outcome, deadLetters: readonly DeadLetter[]): Change => {
    const before = session.checkpoint()
    const committed = mergeCommitted(before.committed, delivery.committed)
    return {
      next: settleLetters({ ...before, committed }, { delivered: taken.length }),
      extras: { removedLetters: taken.map((event) => keyOf(events.get(event)!)), deadLetters },
    }
  }
  const { failure, ...outcome } = await commitDelivery(session, {
    events: [...events.keys()],
    delivery,
    whole: (all) => change(all, keptOf(all.refusals)),
    part: (some) => change(some, some.refusals.length === 0 ? [] : keptOf(some.refusals)),
  })
  const page = { tried, delivered: outcome.taken.length, kept: keptOf(delivery.refusals) }
  // A longer answer that finds no room is no reason to stop: then the older one stays.
  return failure === undefined || isFailure(failure, 'dead_letters_full') ? page : { ...page, failure }
}

async function loadLetters(
  { deps, job }: Session,
  keys: readonly Identity[],
): Promise<{ letters: DeadLetter[]; tried: number }> {
  const letters: DeadLetter[] = []
  let [tried, bytes] = [0, 0]
  while (tried < keys.length && tried < mostLetters && bytes < mostBytes) {
    const some = keys.slice(tried, tried + lettersAtOnce)
    for (const letter of await deps.store.deadLetters.read(job.stream, some)) {
      letters.push(letter)
      bytes += letter.event.length
    }
    tried += some.length
  }
  return { letters, tried }
}

/** A letter that nobody can read stays, with the reason. */
function eventOf({ event }: DeadLetter, redo: (event: Event) => Event): Event | string {
  try {
    return redo(restoreEvent(event))
  } catch (error) {
    return messageOf(error).slice(0, 1024)
  }
}

function refusedAgain(
  { event, reason, answer }: Refusal,
  letters: ReadonlyMap<Event, DeadLetter>,
): DeadLetter {
  const letter = letters.get(event)
  if (letter === undefined) throw new Error('a sink refused an event that it was not given')
  return { ...letter, reason, answer }
}

export function keyOf({ id, time }: Identity): Identity {
  return { id, ...(time !== undefined && { time }) }
}
