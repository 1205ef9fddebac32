import { endOf } from '../domain/day.ts'
import { dueAt, nextDue, type Due } from '../domain/plan/due.ts'
import { troubleOf } from '../domain/plan/plan.ts'
import { todayOf } from '../domain/plan/stream-state.ts'
import type { Checkpoint } from '../domain/checkpoint.ts'
import type { Event } from '../domain/event/event.ts'
import { isFailure, type Failure } from '../domain/failure.ts'
import { sliceOf } from '../domain/policy.ts'
import { factsOf, type Cursor, type Page } from '../domain/scan/page.ts'
import { scanFor } from '../domain/scan/progress.ts'
import type { Scan, ScanStep } from '../domain/scan/scan.ts'
import type { PageRequest } from '../ports/delivery.ts'
import { fetchPage, type FetchedPage, type PageAhead } from './fetch-page.ts'
import type { KnownPage } from './latest-pages.ts'
import type { Load, LoadPage, ReadPage } from './load.ts'
import { tellRepeatedIds } from './load-commit.ts'
import type { SinkTarget } from './open-sink.ts'
import type { Session } from './session.ts'

/** What a pump remembers from load to load, besides its checkpoint. */
export interface Reading {
  readonly beganMs: number
  /** The same instant, by the steady clock. */
  readonly beganAtMs: number
  /** When the latest page of the stream was requested, by the steady clock; undefined where that is not known. */
  latestMs: number | undefined
  /** Pages of earlier polls of which every event is seen, by their hashes. */
  readonly known: ReadonlyMap<string, KnownPage>
  ahead: PageAhead | undefined
  /** Pages of which the sink kept back the last events, since they fill no body; the next load begins with them. */
  kept: readonly LoadPage[]
  /** The time slice has ended, or more urgent work waits. */
  isOver: boolean
}

/** Why a load ended. */
export interface LoadEnd {
  /** After its pages. */
  readonly scan: Scan
  readonly why: 'scan' | 'full' | 'slice' | 'turn' | 'failure'
  /** The page after it could not be read. */
  readonly failure?: Failure
}

/**
 * Reads pages of the scan that is due: until the load is full, the scan ends or gives way to another one, the time slice
 * ends, or the next page fails or would have to wait for memory. Throws what is no failure of a page.
 */
export async function readLoad(
  session: Session,
  target: SinkTarget,
  reading: Reading,
  load: Load,
  signal: AbortSignal,
): Promise<LoadEnd> {
  const { job, now, policy } = session
  const before = session.checkpoint()
  const due = { checkpoint: before, kind: dueOf(session, before).kind, readRequest: job.readRequest }
  const begun = takeKept(target, reading, load, scanFor(due, now(), policy))
  let { scan } = begun
  // The sink may have left over events of the last page.
  if (begun.end !== 'none') return { scan, why: 'scan' }
  if (load.hasEnough) return { scan, why: 'full' }
  for (;;) {
    let fetched: FetchedPage
    try {
      fetched = await takePage(session, reading, scan, { isFirst: load.pages.length === 0 }, signal)
    } catch (error) {
      if (!isFailure(error) || error.code === 'cancelled') throw error
      return isFailure(error, 'no_room') ? { scan, why: 'full' } : { scan, why: 'failure', failure: error }
    }
    const page =
      recognise(session, reading, scan, fetched) ?? (await identify(session, target, scan, fetched))
    reading.latestMs = Math.max(reading.latestMs ?? 0, page.requestedAt)
    // By the API's clock, whose offset is known best after the answer.
    const beganAtMs = page.requestedAt + session.deps.apiClock.offsetOf(job.zone.account)
    const step = load.add(page, scan.pages === 0 ? { ...scan, beganAtMs } : scan)
    scan = step.scan
    reading.isOver = !mayGoOn(session, reading)
    if (step.end !== 'none') return { scan, why: 'scan' }
    if (reading.isOver) return { scan, why: 'slice' }
    if (dueOf(session, load.after).kind !== scan.kind || !isDue(session, load.after))
      return { scan, why: 'turn' }
    if (load.isFull) return { scan, why: 'full' }
  }
}

function dueOf({ job, now, policy }: Session, checkpoint: Checkpoint): Due {
  return nextDue({ stream: job.stream, checkpoint, readRequest: job.readRequest }, now(), policy)
}

export function isDue(session: Session, checkpoint: Checkpoint): boolean {
  const nowMs = session.now()
  return dueAt(dueOf(session, checkpoint), troubleOf(session.job, checkpoint), nowMs) <= nowMs
}

function mayGoOn({ deps, job, checkpoint }: Session, { beganMs }: Reading): boolean {
  return deps.clock.monotonic() - beganMs < sliceOf(checkpoint().restarts) && job.mayGoOn()
}

/** Begins the load with the pages that were kept for it; drops them where another scan is due first. */
export function takeKept(
  target: SinkTarget,
  reading: Reading,
  load: Load,
  begun: Scan,
): Pick<ScanStep, 'scan' | 'end'> {
  const { kept } = reading
  reading.kept = []
  const isSame = kept[0]?.scan.kind === begun.kind && kept[0].facts.cursor === begun.cursor
  if (!isSame) {
    for (const { release } of kept) release()
    target.seen.add([])
    return { scan: begun, end: 'none' }
  }
  let step: Pick<ScanStep, 'scan' | 'end'> = { scan: begun, end: 'none' }
  for (const page of kept) step = load.add(page, step.scan)
  return step
}

/** Events that the sink is to get; the others are seen with the commit. */
function wantedOf({ sink: { wants } }: SinkTarget, unseen: readonly Event[]): readonly Event[] {
  return wants === undefined ? unseen : unseen.filter(wants)
}

/** A page waits for memory only where its load holds none: otherwise loads could wait for each other. */
async function takePage(
  session: Session,
  reading: Reading,
  scan: Scan,
  { isFirst }: { isFirst: boolean },
  signal: AbortSignal,
): Promise<FetchedPage> {
  const { ahead } = reading
  reading.ahead = undefined
  if (ahead !== undefined && ahead.cursor === scan.cursor) {
    try {
      return await ahead.take()
    } catch (error) {
      if (!isFirst || !isFailure(error, 'no_room')) throw error
    }
  } else await ahead?.discard()
  const request = requestFor(session, reading, scan)
  return fetchPage(session.deps, isFirst ? request : { ...request, ifRoom: true }, signal)
}

export function requestFor(session: Session, reading: Reading, scan: Scan): PageRequest {
  const { zone, stream, priority } = session.job
  const { cursor } = scan
  const since = sharedSince(session, reading, scan)
  const known = isPolledAgain(session, scan) ? { known: knownAt(reading, cursor) } : {}
  return { zone, day: stream.day, cursor, priority, sink: stream.sink, ...since, ...known }
}

/** Polls read the same one or two pages again and again. */
function isPolledAgain({ checkpoint }: Session, { kind }: Scan): boolean {
  const { lastFull } = checkpoint()
  return lastFull !== undefined && (kind === 'incremental' || lastFull.pages <= 2)
}

function knownAt({ known }: Reading, cursor: Cursor | null): string {
  return known.values().find(({ facts }) => facts.cursor === cursor)?.hash ?? ''
}

/** The first page of a scan dates it: an older answer of another stream would make the lag look larger than it is. */
const freshForMs = 5_000

/**
 * Which answers serve this stream too. The first page of a scan must be newer than the scan before it, and than what
 * made this one due where that is an instant; a later page no older than the page before it.
 */
function sharedSince(
  { deps, job, checkpoint, policy, now }: Session,
  { latestMs, beganAtMs }: Reading,
  { pages }: Scan,
): Pick<PageRequest, 'requestedSince' | 'freshForMs'> {
  if (pages > 0) return { requestedSince: latestMs ?? beganAtMs }
  const { lastFull, lastIncremental } = checkpoint()
  const points = policy.settleAfterMs.map((afterMs) => endOf(job.stream.day) + afterMs)
  const passed = points.filter((pointMs) => pointMs <= now())
  const byApiClock = [...passed, (lastFull?.beganAtMs ?? 0) + 1, (lastIncremental?.beganAtMs ?? 0) + 1]
  const requestedSince = Math.max(
    Math.max(...byApiClock) - deps.apiClock.offsetOf(job.zone.account),
    (latestMs ?? -1) + 1,
    job.readRequest === undefined ? 0 : beganAtMs,
  )
  return { requestedSince, freshForMs }
}

/** Once for each answer: one that several streams share must not confirm itself. */
function learnTime({ deps, job }: Session, { shared, clockOffsetMs, connection }: Page): void {
  const { account } = job.zone
  if (shared !== undefined) return
  if (clockOffsetMs !== undefined) deps.apiClock.learn(account, clockOffsetMs, connection)
  else if (job.stream.day === todayOf(deps.clock.steady())) deps.apiClock.listedToday(account)
}

/** A page that is the same as at an earlier poll, with every event seen since then. */
function recognise(
  session: Session,
  { known }: Reading,
  { cursor }: Scan,
  { page, tookMs }: FetchedPage,
): ReadPage | undefined {
  const { hash = '', bytes, requestedAt, release } = page
  const same = known.get(hash)
  const { mark } = session.checkpoint()
  if (same === undefined || same.mark.join() !== mark.join()) return undefined
  learnTime(session, page)
  const { stream, priority } = session.job
  const { events } = same.facts
  session.deps.telemetry.emit({ name: 'PageFetched', stream, priority, events, bytes })
  const facts = { ...same.facts, cursor, tookMs }
  return { facts, hash, bytes, requestedAt, unseen: [], wanted: [], release }
}

/** Takes the API's time from a page, and finds what is new on it. */
async function identify(
  session: Session,
  target: SinkTarget,
  scan: Scan,
  { page, tookMs }: FetchedPage,
): Promise<ReadPage> {
  const { deps, job } = session
  const { stream, priority } = job
  const { events, bytes, requestedAt, release } = page
  try {
    learnTime(session, page)
    deps.telemetry.emit({ name: 'PageFetched', stream, priority, events: events.length, bytes })
    const unseen = await target.seen.unseenOf(events)
    tellRepeatedIds(deps.telemetry, stream, unseen)
    target.seen.hold(unseen)
    const { mark } = session.checkpoint()
    const facts = factsOf(page, { cursor: scan.cursor, mark, nowMs: session.now(), unseen, tookMs })
    return { facts, hash: page.hash, bytes, requestedAt, unseen, wanted: wantedOf(target, unseen), release }
  } catch (error) {
    release()
    throw error
  }
}
