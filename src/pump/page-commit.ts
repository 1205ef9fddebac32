import type { Checkpoint } from '../domain/checkpoint.ts'
import type { Delivery } from '../domain/event/delivery.ts'
import type { Event } from '../domain/event/event.ts'
import { lateBefore } from '../domain/scan/overlap.ts'
import { timesOf, type PageFacts } from '../domain/scan/page.ts'
import { afterPage, afterPart } from '../domain/scan/progress.ts'
import type { Scan, ScanStep } from '../domain/scan/scan.ts'
import { commitDelivery, deadLettersOf, type DeliveryOutcome } from './commit-delivery.ts'
import { packSightings, type SeenWindow } from './seen-window.ts'
import type { Session } from './session.ts'
import type { Stream } from '../domain/stream.ts'
import type { Telemetry } from '../ports/process.ts'

/** A page after its delivery: the sink is responsible for all or some of its unseen events. */
interface ShippedPage {
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
  const { checkpoint, deps, job, policy } = session
  const { scan, step, facts, unseen, wanted, delivery } = page
  const nowMs = session.now()
  const sureMs = session.sureNow()
  const before = checkpoint()
  const beganMs = deps.clock.monotonic()
  const commitSeconds = () => (deps.clock.monotonic() - beganMs) / 1000
  const { stream, priority } = job
  const { telemetry } = deps
  if (isOnlyRead(before, page)) {
    const outcome = { counts: nothing, committed: [] }
    const isCommitted = await session.commitReading(
      afterPage(before, { step, facts, outcome, sureMs }, nowMs, policy),
    )
    telemetry.emit({
      name: 'PageCommitted',
      stream,
      priority,
      ...toldOf(nothing, facts.events),
      delaysSeconds: [],
      ...(isCommitted && { commitSeconds: commitSeconds() }),
    })
    return
  }
  const filtered = filteredOf(unseen, wanted)
  const lateMs = scan.kind === 'archive' ? null : lateBefore(before, policy)
  const { committed } = delivery
  const countsOf = (outcome: DeliveryOutcome, others: readonly Event[]) => ({
    delivered: outcome.taken.length,
    deadLetters: outcome.refusals.length,
    late: countBefore(lateMs, eventsOf(outcome)),
    filtered: others.length,
    skipped: outcome.skipped.length,
    lost: outcome.lost,
  })
  const extrasOf = (outcome: DeliveryOutcome, others: readonly Event[]) => ({
    seen: packSightings([...eventsOf(outcome), ...others]),
    deadLetters: deadLettersOf(session, outcome.refusals, nowMs),
  })
  const { failure, ...outcome } = await commitDelivery(session, {
    events: wanted,
    delivery,
    whole: (all) => {
      const outcome = { counts: countsOf(all, filtered), committed }
      return {
        next: afterPage(before, { step, facts, outcome, sureMs }, nowMs, policy),
        extras: extrasOf(all, filtered),
      }
    },
    part: (some) => {
      const events = eventsOf(some)
      const outcome = { counts: countsOf(some, []), committed }
      return {
        next: afterPart(
          before,
          scan,
          { ...outcome, events: events.length, timesMs: timesOf(events) },
          policy,
        ),
        extras: extrasOf(some, []),
      }
    },
  })
  const others = failure === undefined ? filtered : []
  const known = [...eventsOf(outcome), ...others]
  if (failure !== undefined && known.length === 0) throw failure
  seen.add(known)
  if (failure === undefined) tellChanges(telemetry, before, checkpoint(), step)
  for (const [reason, some] of Map.groupBy(outcome.skipped, ({ reason }) => reason))
    telemetry.emit({ name: 'EventsSkipped', stream, reason, count: some.length, answer: some[0]!.answer })
  for (const { event, reason, answer } of outcome.refusals)
    telemetry.emit({ name: 'EventDeadLettered', stream, id: event.id, reason, answer })
  telemetry.emit({
    name: 'PageCommitted',
    stream,
    priority,
    ...toldOf(countsOf(outcome, others), failure === undefined ? facts.events - unseen.length : 0),
    delaysSeconds: timesOf(outcome.taken).map((timeMs) => Math.max(0, nowMs - timeMs) / 1000),
    commitSeconds: commitSeconds(),
  })
  if (failure !== undefined) throw failure
}

const nothing = { delivered: 0, deadLetters: 0, late: 0, filtered: 0, skipped: 0, lost: 0 }

function toldOf({ delivered, deadLetters, late, filtered, lost }: typeof nothing, duplicates: number) {
  return { delivered, duplicates, filtered, late, deadLettered: deadLetters, ...(lost > 0 && { lost }) }
}

/** True for a page without anything new in the middle of a scan: it changes how far the scan is, and counters. */
function isOnlyRead({ trouble, requestTrouble }: Checkpoint, { unseen, step }: ShippedPage): boolean {
  if (trouble !== undefined || requestTrouble !== undefined) return false
  return unseen.length === 0 && step.end === 'none'
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

/** Emits internal events for what a committed page changed in its stream. */
function tellChanges(
  telemetry: Telemetry,
  before: Checkpoint,
  after: Checkpoint,
  { end, scan }: ScanStep,
): void {
  const { stream } = after
  if (end === 'complete') {
    const { kind, pages, found, tookMs } = scan
    telemetry.emit({ name: 'ScanCompleted', stream, kind, pages, found, seconds: tookMs / 1000 })
  } else if (end !== 'none') {
    telemetry.emit({ name: 'ScanGuarded', stream, guard: end, pages: scan.pages })
  }
  if (before.trouble !== undefined && after.trouble === undefined) {
    const seconds = (after.lastCommitAtMs - before.trouble.sinceMs) / 1000
    telemetry.emit({ name: 'StreamRecovered', stream, failures: before.trouble.count, seconds })
  }
  if (before.ordering.order !== after.ordering.order) {
    const why =
      after.ordering.revocations > before.ordering.revocations ? 'missed events' : 'scans confirmed it'
    telemetry.emit({
      name: 'OrderingChanged',
      stream,
      from: before.ordering.order,
      to: after.ordering.order,
      why,
    })
  }
  if (before.ended === undefined && after.ended !== undefined) {
    telemetry.emit({ name: 'StreamEnded', stream, as: after.ended.as })
  }
}

/**
 * Emits one internal event when two unseen events of a page have the same id; as each is there once, their times differ.
 * Emits one when an event has an own id, because another one has the same id and time.
 */
export function tellRepeatedIds(telemetry: Telemetry, stream: Stream, unseen: readonly Event[]): void {
  const own = unseen.find(({ hasOwnId }) => hasOwnId === true)
  if (own !== undefined) telemetry.emit({ name: 'IdSharedByEvents', stream, id: own.id })
  const ids = new Set<string>()
  for (const { id } of unseen) {
    if (ids.has(id)) {
      telemetry.emit({ name: 'IdSeenWithOtherTime', stream, id })
      return
    }
    ids.add(id)
  }
}
