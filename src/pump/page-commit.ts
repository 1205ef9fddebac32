import type { DeadLetter, Delivery } from '../domain/delivery.ts'
import type { Event } from '../domain/event.ts'
import { lateBefore } from '../domain/overlap.ts'
import type { PageFacts } from '../domain/page-facts.ts'
import { afterPage } from '../domain/progress.ts'
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

/** Writes down in one step what a page changed, and tells of it. */
export async function commitPage(session: Session, seen: SeenWindow, page: ShippedPage): Promise<void> {
  const { deps, job, policy } = session
  const { step, facts, unseen, delivery } = page
  const nowMs = session.now()
  const before = session.checkpoint()
  const late = lateOf(facts, lateBefore(before, policy))
  const deadLetters = delivery.refusals.length
  const delivered = unseen.length - deadLetters
  const isTimeDoubtful = deps.apiClock.isDoubtful(job.zone.account)
  const outcome = { delivered, deadLetters, late, receipts: delivery.receipts, isTimeDoubtful }
  const next = afterPage(before, step, facts, outcome, nowMs, policy)
  const began = deps.clock.monotonic()
  await session.commit(next, { seen: seen.pack(unseen), deadLetters: lettersOf(session, delivery, nowMs) })
  seen.add(unseen)
  tellChanges(deps.telemetry, before, session.checkpoint(), step)
  deps.telemetry.emit({
    name: 'PageCommitted',
    stream: job.stream,
    lane: job.lane,
    delivered,
    duplicates: facts.events - unseen.length,
    late,
    deadLettered: delivery.refusals.map(({ event, reason, answer }) => ({ id: event.id, reason, answer })),
    delaysSeconds: delaysOf(page, nowMs),
    commitSeconds: (deps.clock.monotonic() - began) / 1000,
  })
}

function lateOf({ unseenTimesMs }: PageFacts, lateBeforeMs: number | null): number {
  return lateBeforeMs === null ? 0 : unseenTimesMs.filter((timeMs) => timeMs < lateBeforeMs).length
}

function lettersOf({ job }: Session, { refusals }: Delivery, at: number): DeadLetter[] {
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
