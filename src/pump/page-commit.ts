import type { DeadLetter, Delivery, Refusal } from '../domain/delivery.ts'
import type { Event } from '../domain/event.ts'
import { isFailure } from '../domain/failure.ts'
import { lateBefore } from '../domain/overlap.ts'
import type { PageFacts } from '../domain/page-facts.ts'
import { afterPage, keepTaken } from '../domain/progress.ts'
import { storeEvent } from '../domain/stored-event.ts'
import type { SweepStep } from '../domain/sweep.ts'
import type { SeenWindow } from './seen-window.ts'
import type { Session } from './session.ts'
import { tellChanges } from './tell.ts'

/** A page for whose events the sink is responsible now. */
export interface ShippedPage {
  readonly step: SweepStep
  readonly facts: PageFacts
  readonly unseen: readonly Event[]
  readonly delivery: Delivery
}

/**
 * Writes down in one step what a page changed, and tells of it. Where its dead letters find no room it writes down what
 * the sink has taken, so that this is not sent again with each new try, and throws.
 */
export async function commitPage(session: Session, seen: SeenWindow, page: ShippedPage): Promise<void> {
  const { deps, job, policy } = session
  const { step, facts, unseen, delivery } = page
  const { refusals, receipts } = delivery
  const nowMs = session.now()
  const before = session.checkpoint()
  const late = step.sweep.kind === 'archive' ? 0 : lateOf(facts, lateBefore(before, policy))
  const deadLetters = refusals.length
  const delivered = unseen.length - deadLetters
  const isTimeDoubtful = deps.apiClock.isDoubtful(job.zone.account)
  const outcome = { delivered, deadLetters, late, receipts, isTimeDoubtful }
  const next = afterPage(before, step, facts, outcome, nowMs, policy)
  const began = deps.clock.monotonic()
  try {
    await session.commit(next, {
      seen: seen.pack(unseen),
      deadLetters: lettersOf(session, refusals, nowMs),
    })
  } catch (error) {
    if (isFailure(error, 'dead_letters_full')) await commitTaken(session, seen, page)
    throw error
  }
  seen.add(unseen)
  tellChanges(deps.telemetry, before, session.checkpoint(), step)
  deps.telemetry.emit({
    name: 'PageCommitted',
    stream: job.stream,
    lane: job.lane,
    delivered,
    duplicates: facts.events - unseen.length,
    late,
    deadLettered: refusals.map(({ event, reason, answer }) => ({ id: event.id, reason, answer })),
    delaysSeconds: delaysOf(page, nowMs),
    commitSeconds: (deps.clock.monotonic() - began) / 1000,
  })
}

/** Of a page whose dead letters find no room: its cursor stays, so that those come again. */
async function commitTaken(session: Session, seen: SeenWindow, page: ShippedPage): Promise<void> {
  const { unseen, delivery } = page
  const refused = new Set(delivery.refusals.map(({ event }) => event))
  const taken = unseen.filter((event) => !refused.has(event))
  if (taken.length === 0) return
  await session.commit(keepTaken(session.checkpoint(), taken.length, delivery.receipts), {
    seen: seen.pack(taken),
  })
  const { job, deps, now } = session
  deps.telemetry.emit({
    name: 'PageCommitted',
    stream: job.stream,
    lane: job.lane,
    delivered: taken.length,
    duplicates: 0,
    late: 0,
    deadLettered: [],
    delaysSeconds: delaysOf(page, now()),
    commitSeconds: 0,
  })
}

function lateOf({ unseenTimesMs }: PageFacts, lateBeforeMs: number | null): number {
  return lateBeforeMs === null ? 0 : unseenTimesMs.filter((timeMs) => timeMs < lateBeforeMs).length
}

/** What the sink refused, as the store keeps it. */
export function lettersOf({ job }: Session, refusals: readonly Refusal[], at: number): DeadLetter[] {
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

/** From each delivered event's own time to now. */
function delaysOf({ unseen, delivery }: ShippedPage, nowMs: number): number[] {
  const refused = new Set(delivery.refusals.map(({ event }) => event))
  return unseen.flatMap((event) =>
    event.timeMs === undefined || refused.has(event) ? [] : [Math.max(0, nowMs - event.timeMs) / 1000],
  )
}
