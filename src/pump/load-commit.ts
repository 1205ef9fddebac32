import { settleDeadLetters, type Checkpoint } from '../domain/checkpoint.ts'
import type { Event } from '../domain/event/event.ts'
import { asListed } from '../domain/event/seen.ts'
import { unreadOf } from '../domain/plan/stream-state.ts'
import { timesOf } from '../domain/scan/page.ts'
import { afterPart, isShrunkenAgain, lateBefore, withDelivery } from '../domain/scan/progress.ts'
import { guardText, type ScanStep } from '../domain/scan/scan.ts'
import type { Gap } from '../domain/stream.ts'
import { driftAfter, joined, type Unexpected } from '../domain/event/unexpected.ts'
import type { Source } from '../ports/delivery.ts'
import type { Telemetry } from '../ports/process.ts'
import { closedBy, gapsBefore } from './close-gaps.ts'
import {
  commitDelivery,
  deadLettersOf,
  outcomeOf,
  type Delivered,
  type DeliveryOutcome,
} from './commit-delivery.ts'
import type { SinkTarget } from './open-sink.ts'
import type { LoadPage } from './reading.ts'
import { packSightings } from './seen-window.ts'
import type { Session } from './session.ts'

/**
 * Commits in one step what a load changed, and emits internal events. Where the sink did not settle all events, the
 * scan's cursor stays before the first page that has one to be delivered again; the result is what is left of the pages
 * from there on. Throws the failure of a partial delivery once what is certain is committed.
 */
export async function commitLoad(
  session: Session,
  { seen }: Pick<SinkTarget, 'seen'>,
  pages: readonly LoadPage[],
  delivered: Delivered,
): Promise<readonly LoadPage[]> {
  const before = session.checkpoint()
  const nowMs = session.now()
  const beganMs = session.deps.clock.monotonic()
  const openGaps = await gapsBefore(session, pages.at(-1)!)
  const load = { session, pages, delivered, before, nowMs, openGaps }
  const outcome = outcomeOf(delivered)
  const whole = settle(load, outcome)
  const certain = outcome.refusals.length === 0 ? whole : settle(load, { ...outcome, refusals: [] })
  const { settled, failure } = await commitDelivery(session, delivered.delivery, whole, certain)
  if (failure !== undefined && settled.decided.length === 0) throw failure
  const left = leftOf(pages.slice(settled.done), settled.decided)
  seen.add(
    settled.sightings,
    left.flatMap(({ unseen }) => unseen),
  )
  tell(load, settled, { beganMs, isWhole: failure === undefined })
  if (failure !== undefined) throw failure
  return left
}

interface DeliveredLoad {
  readonly session: Session
  readonly pages: readonly LoadPage[]
  readonly delivered: Delivered
  /** The checkpoint. */
  readonly before: Checkpoint
  readonly nowMs: number
  readonly openGaps: readonly Gap[]
}

/** What became of a load, and what its commit changes. */
function settle(
  { session, pages, delivered, before, nowMs, openGaps }: DeliveredLoad,
  outcome: DeliveryOutcome,
) {
  const { deps, policy } = session
  const { events: wanted, delivery, adoption } = delivered
  const { taken, refusals, skipped, lost } = outcome
  const isArchive = pages[0]!.scan.kind === 'archive'
  const lateMs = isArchive ? null : lateBefore(before, policy)
  const events = eventsOf(outcome)
  const { done, part } = settledPages(pages, wanted, events)
  const filtered = pages.slice(0, done).flatMap(filteredOf)
  const counts = {
    delivered: adoption?.unseen.length ?? taken.length,
    deadLetters: refusals.length,
    late: lateMs === null ? 0 : timesOf(events).filter((timeMs) => timeMs < lateMs).length,
    filtered: filtered.length,
    skipped: skipped.length,
    lost,
  }
  const decided = [...events, ...filtered]
  const sightings =
    adoption === undefined
      ? decided
      : [...adoption.unseen, ...filtered.filter((event) => !adoption.holds(event))]
  const after = pages[done - 1]?.after ?? before
  const open = pages[done]?.scan
  const read = open === undefined ? after : afterPart(after, open, part, policy)
  const replayed = adoption?.deadLetters ?? []
  // An object that an earlier try has written may hold events of pages that this load has not read.
  const listed = read.listed + (isArchive ? 0 : asListed(sightings) - asListed(decided))
  const shipped = withDelivery({ ...read, listed }, delivery, counts)
  const found = unexpectedIn(deps.source, [...pages.slice(0, done).map(({ unseen }) => unseen), part])
  const drift = driftAfter(before.drift, found, { nowMs, newestMs: shipped.newestMs })
  const met = drift === before.drift ? shipped : { ...shipped, drift }
  const next = settleDeadLetters(met, { delivered: replayed.length })
  const gone = next.gone === before.gone ? undefined : unreadOf(before, 'unreadable', nowMs)
  const extras = {
    seen: packSightings(sightings),
    deadLetters: deadLettersOf(session, refusals, nowMs),
    removedDeadLetters: replayed,
    // What else the API has removed with the events that it lists no more is not known.
    gaps: gone !== undefined ? [gone] : done < pages.length ? [] : closedBy(next, openGaps, session),
  }
  return { outcome, done, counts, decided, sightings, found, next, extras }
}

function tell(
  { session, pages, before, nowMs }: DeliveredLoad,
  { outcome, done, counts, found, next, extras }: ReturnType<typeof settle>,
  { beganMs, isWhole }: { readonly beganMs: number; readonly isWhole: boolean },
): void {
  const { clock, telemetry } = session.deps
  const { stream, priority } = session.job
  for (const gap of extras.gaps)
    telemetry.emit({ name: gap.readAt === undefined ? 'GapFound' : 'GapClosed', gap })
  const last = pages[done - 1]
  if (isWhole && last !== undefined) tellChanges(telemetry, before, session.checkpoint(), last.step)
  if (Object.keys(found.names).length > 0) telemetry.emit({ name: 'EntriesUnexpected', stream, found })
  else if (before.drift !== undefined && next.drift === undefined)
    telemetry.emit({ name: 'EntriesAsExpected', stream })
  for (const [reason, some] of Map.groupBy(outcome.skipped, ({ reason }) => reason))
    telemetry.emit({ name: 'EventsSkipped', stream, reason, count: some.length, answer: some[0]!.answer })
  for (const { event, reason, answer } of outcome.refusals)
    telemetry.emit({ name: 'EventDeadLettered', stream, id: event.id, reason, answer })
  const { delivered, filtered, late, deadLetters: deadLettered, lost } = counts
  telemetry.emit({
    name: 'LoadCommitted',
    stream,
    priority,
    pages: done,
    delivered,
    duplicates: pages.slice(0, done).reduce((sum, { facts }) => sum + facts.events - facts.unseen, 0),
    filtered,
    late,
    deadLettered,
    ...(lost > 0 && { lost }),
    delaysSeconds: timesOf(outcome.taken).map((timeMs) => Math.max(0, nowMs - timeMs) / 1000),
    commitSeconds: (clock.monotonic() - beganMs) / 1000,
  })
}

/** Of the new events of each page. */
function unexpectedIn(source: Source, pages: readonly (readonly Event[])[]): Unexpected {
  const all = pages.flatMap((events) => (events.length === 0 ? [] : (source.unexpectedIn?.(events) ?? [])))
  return all.length === 1 ? all[0]! : joined(all)
}

/** How many pages are done, and the events of the others that are settled nevertheless. */
function settledPages(pages: readonly LoadPage[], wanted: readonly Event[], settled: readonly Event[]) {
  if (settled.length === wanted.length) return { done: pages.length, part: [] }
  const decided = new Set(settled)
  const open = pages.findIndex((page) => page.wanted.some((event) => !decided.has(event)))
  const others = pages.slice(open).flatMap((page) => page.wanted)
  return { done: open, part: others.filter((event) => decided.has(event)) }
}

function leftOf(pages: readonly LoadPage[], settled: readonly Event[]): LoadPage[] {
  if (pages.length === 0) return []
  const decided = new Set(settled)
  return pages.map((page) => {
    const unseen = page.unseen.filter((event) => !decided.has(event))
    const gone = page.unseen.length - unseen.length
    if (gone === 0) return page
    const fresh = asListed(unseen)
    const facts = {
      ...page.facts,
      events: page.facts.events - gone,
      unseen: unseen.length,
      fresh,
      met: page.facts.met + page.facts.fresh - fresh,
      unseenTimesMs: timesOf(unseen),
    }
    const wanted = page.wanted.filter((event) => !decided.has(event))
    // Its share of the bytes, so that a kept page does not fill the next load alone.
    return { ...page, facts, unseen, wanted, bytes: (page.bytes * unseen.length) / page.unseen.length }
  })
}

function filteredOf({ unseen, wanted }: LoadPage): readonly Event[] {
  return wanted.length === unseen.length ? [] : [...new Set(unseen).difference(new Set(wanted))]
}

function eventsOf({ taken, refusals, skipped }: DeliveryOutcome): readonly Event[] {
  if (refusals.length + skipped.length === 0) return taken
  return [...taken, ...[...refusals, ...skipped].map(({ event }) => event)]
}

function tellChanges(telemetry: Telemetry, before: Checkpoint, after: Checkpoint, { end, scan }: ScanStep) {
  const { stream, trouble, ordering, ended } = after
  const { kind, pages, found, tookMs } = scan
  if (end === 'complete')
    telemetry.emit({ name: 'ScanCompleted', stream, kind, pages, found, seconds: tookMs / 1000 })
  else if (end !== 'none' && (end !== 'listing_shrank' || isShrunkenAgain(after)))
    telemetry.emit({ name: 'ScanGuarded', stream, guard: end, why: guardText(end, scan) })
  if (before.trouble !== undefined && trouble === undefined) {
    const { count: failures, sinceMs } = before.trouble
    telemetry.emit({
      name: 'StreamRecovered',
      stream,
      failures,
      seconds: (after.lastCommitAtMs - sinceMs) / 1000,
    })
  }
  const { order: from, revocations } = before.ordering
  if (from !== ordering.order) {
    const why = ordering.revocations > revocations ? 'missed events' : 'scans confirmed it'
    telemetry.emit({ name: 'OrderingChanged', stream, from, to: ordering.order, why })
  }
  if (before.ended === undefined && ended !== undefined)
    telemetry.emit({ name: 'StreamEnded', stream, as: ended.as })
}
