import type { Checkpoint } from '../domain/checkpoint.ts'
import type { Delivery } from '../domain/event/delivery.ts'
import type { Event } from '../domain/event/event.ts'
import { lateBefore } from '../domain/scan/overlap.ts'
import { timesOf, type PageFacts } from '../domain/scan/page.ts'
import { afterPage, afterPart } from '../domain/scan/progress.ts'
import type { Scan, ScanStep } from '../domain/scan/scan.ts'
import { commitDelivery, deadLettersOf, type DeliveryOutcome } from './commit-delivery.ts'
import type { SeenWindow } from './seen-window.ts'
import type { Session } from './session.ts'
import { tellChanges } from './tell.ts'

/** A page after its delivery: the sink is responsible for all or some of its unseen events. */
export interface ShippedPage {
  /** The scan before this page; `step` holds the scan after it. */
  readonly scan: Scan
  readonly step: ScanStep
  readonly facts: PageFacts
  readonly unseen: readonly Event[]
  /** The unseen events that were delivered; all of them unless the sink filters. */
  readonly wanted: readonly Event[]
  readonly delivery: Delivery
}

/**
 * Commits in one step what a page changed, and emits internal events. After a partial delivery it marks only the events
 * that are done as seen, leaves the scan's cursor, and throws the failure.
 */
export async function commitPage(session: Session, seen: SeenWindow, page: ShippedPage): Promise<void> {
  if (isOnlyRead(session.checkpoint(), page)) return commitRead(session, page)
  const { deps, job, policy } = session
  const { scan, step, facts, unseen, wanted, delivery } = page
  const filtered = filteredOf(unseen, wanted)
  const nowMs = session.now()
  const before = session.checkpoint()
  const lateMs = scan.kind === 'archive' ? null : lateBefore(before, policy)
  const sureMs = session.sureNow()
  const lateIn = (outcome: DeliveryOutcome) => countBefore(lateMs, eventsOf(outcome))
  const countsOf = (outcome: DeliveryOutcome) => ({
    delivered: outcome.taken.length,
    deadLetters: outcome.refusals.length,
    skipped: outcome.skipped.length,
    late: lateIn(outcome),
    lost: outcome.lost,
    committed: delivery.committed,
  })
  const extrasOf = (outcome: DeliveryOutcome, others: readonly Event[]) => ({
    seen: seen.pack([...eventsOf(outcome), ...others]),
    deadLetters: deadLettersOf(session, outcome.refusals, nowMs),
  })
  const beganMs = deps.clock.monotonic()
  const { failure, ...outcome } = await commitDelivery(session, {
    events: wanted,
    delivery,
    whole: (all) => ({
      next: afterPage(
        before,
        {
          step,
          facts,
          outcome: { ...countsOf(all), filtered: filtered.length, sureMs },
        },
        nowMs,
        policy,
      ),
      extras: extrasOf(all, filtered),
    }),
    part: (some) => ({
      next: afterPart(before, scan, { ...countsOf(some), timesMs: timesOf(eventsOf(some)) }, policy),
      extras: extrasOf(some, []),
    }),
  })
  const known = failure === undefined ? [...eventsOf(outcome), ...filtered] : eventsOf(outcome)
  if (failure !== undefined && known.length === 0) throw failure
  seen.add(known)
  if (failure === undefined) tellChanges(deps.telemetry, before, session.checkpoint(), step)
  for (const [reason, some] of Map.groupBy(outcome.skipped, ({ reason }) => reason))
    deps.telemetry.emit({
      name: 'EventsSkipped',
      stream: job.stream,
      reason,
      count: some.length,
      answer: some[0]!.answer,
    })
  for (const { event, reason, answer } of outcome.refusals)
    deps.telemetry.emit({ name: 'EventDeadLettered', stream: job.stream, id: event.id, reason, answer })
  deps.telemetry.emit({
    name: 'PageCommitted',
    stream: job.stream,
    priority: job.priority,
    delivered: outcome.taken.length,
    duplicates: failure === undefined ? facts.events - unseen.length : 0,
    filtered: failure === undefined ? filtered.length : 0,
    late: lateIn(outcome),
    deadLettered: outcome.refusals.length,
    ...(outcome.lost > 0 && { lost: outcome.lost }),
    delaysSeconds: timesOf(outcome.taken).map((timeMs) => Math.max(0, nowMs - timeMs) / 1000),
    commitSeconds: (deps.clock.monotonic() - beganMs) / 1000,
  })
  if (failure !== undefined) throw failure
}

/** True for a page without anything new in the middle of a scan: it changes how far the scan is, and counters. */
function isOnlyRead({ trouble, requestTrouble }: Checkpoint, { unseen, step }: ShippedPage): boolean {
  if (trouble !== undefined || requestTrouble !== undefined) return false
  return unseen.length === 0 && step.end === 'none'
}

async function commitRead(session: Session, { step, facts }: ShippedPage): Promise<void> {
  const { deps, job, policy } = session
  const sureMs = session.sureNow()
  const outcome = {
    delivered: 0,
    deadLetters: 0,
    late: 0,
    filtered: 0,
    skipped: 0,
    committed: [],
    sureMs,
  }
  const beganMs = deps.clock.monotonic()
  const next = afterPage(session.checkpoint(), { step, facts, outcome }, session.now(), policy)
  const isCommitted = await session.commitReading(next)
  deps.telemetry.emit({
    name: 'PageCommitted',
    stream: job.stream,
    priority: job.priority,
    delivered: 0,
    duplicates: facts.events,
    filtered: 0,
    late: 0,
    deadLettered: 0,
    delaysSeconds: [],
    ...(isCommitted && { commitSeconds: (deps.clock.monotonic() - beganMs) / 1000 }),
  })
}

function filteredOf(unseen: readonly Event[], wanted: readonly Event[]): readonly Event[] {
  if (wanted.length === unseen.length) return []
  const kept = new Set(wanted)
  return unseen.filter((event) => !kept.has(event))
}

function eventsOf({ taken, refusals, skipped }: DeliveryOutcome): readonly Event[] {
  if (refusals.length + skipped.length === 0) return taken
  return [...taken, ...[...refusals, ...skipped].map(({ event }) => event)]
}

function countBefore(instantMs: number | null, events: readonly Event[]): number {
  if (instantMs === null) return 0
  let count = 0
  for (const { timeMs } of events) if (timeMs !== undefined && timeMs < instantMs) count++
  return count
}
