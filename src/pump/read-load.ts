import type { Checkpoint } from '../domain/checkpoint.ts'
import { endOf } from '../domain/day.ts'
import type { Event } from '../domain/event/event.ts'
import { minuteOf, untimedMinute } from '../domain/event/seen.ts'
import { isFailure, type Failure } from '../domain/failure.ts'
import { dueAt, nextDue, type Due } from '../domain/plan/due.ts'
import { troubleOf } from '../domain/plan/plan.ts'
import { loadBytes, sliceOf } from '../domain/policy.ts'
import { factsOf, type Page, type PageFacts } from '../domain/scan/page.ts'
import { afterPage, scanFor } from '../domain/scan/progress.ts'
import { askedAtOf, type Scan, type ScanStep } from '../domain/scan/scan.ts'
import { sumOf } from '../domain/text/terminal-text.ts'
import type { LoadBounds, PageRequest } from '../ports/delivery.ts'
import { fetchPage, type FetchedPage, type PageAhead } from './fetch-page.ts'
import { soFar, type KnownPage } from './latest-pages.ts'
import type { SinkTarget } from './open-sink.ts'
import type { Session } from './session.ts'

/** What a pump remembers from load to load, besides its checkpoint. */
export interface Reading {
  readonly beganMs: number
  /** The same instant, by the steady clock. */
  readonly beganAtMs: number
  /** When the latest page of the stream was requested, by the steady clock; undefined where that is not known. */
  latestMs: number | undefined
  /** The latest page was made by then at the latest, by the steady clock; undefined for one of another pump. */
  madeByMs: number | undefined
  /** Pages of earlier polls of which every event is seen, by their hashes. */
  readonly known: ReadonlyMap<string, KnownPage>
  ahead: PageAhead | undefined
  /** Where the scan of an archive is: no checkpoint has it. */
  archive: Scan | undefined
  /** Pages of which the sink kept back the last events, since they fill no body; the next load begins with them. */
  kept: readonly LoadPage[]
  /** The sink has taken a load of this pump. Before that nothing is fetched ahead: a sink that hangs would hold it. */
  sinkMoves: boolean
  /** The cursor of an unfinished scan has expired under this pump. */
  hasRestarted: boolean
  /** The time slice or the stream has ended, or more urgent work waits. */
  isOver: boolean
}

/** A page whose entries are identified, and of which nothing is delivered yet. */
interface ReadPage extends Pick<Page, 'bytes' | 'requestedAt' | 'ageMs' | 'release'> {
  readonly facts: PageFacts
  readonly hash: string | undefined
  /** Events that the stream has not delivered. */
  readonly unseen: readonly Event[]
  /** Those of them that the sink is to get; all unless it filters. The others are seen with the commit. */
  readonly wanted: readonly Event[]
}

/** A page of a load: the scan before it, where the scan is after it, and the checkpoint with it. */
export interface LoadPage extends ReadPage {
  readonly scan: Scan
  readonly step: ScanStep
  readonly after: Checkpoint
}

/** Ages are told in whole seconds. */
const ageStepMs = 1_000

const bounds: LoadBounds = { bytes: loadBytes, events: 10_000, pages: 100 }
/** So long a load without anything new is read on: a crash costs that it is read again. */
const mostIdleMs = 1_000

/**
 * Consecutive pages of one scan, which are delivered and committed together. Nothing of it is in the session's
 * checkpoint before its commit: a failure, an expiry or a restart commits what is in the store.
 */
export class Load {
  readonly pages: LoadPage[] = []
  readonly #session: Session
  readonly #bounds: LoadBounds
  readonly #beganMs: number
  #bytes = 0
  #events = 0

  constructor(session: Session, own: Partial<LoadBounds> = {}) {
    this.#session = session
    this.#bounds = { ...bounds, ...own }
    this.#beganMs = session.deps.clock.monotonic()
  }

  /** The checkpoint after its pages, without what becomes of their events. */
  get after(): Checkpoint {
    return this.pages.at(-1)?.after ?? this.#session.checkpoint()
  }

  get hasEnough(): boolean {
    return this.#bytes >= this.#bounds.bytes || this.#events >= this.#bounds.events
  }

  get isFull(): boolean {
    if (this.hasEnough || this.pages.length >= this.#bounds.pages) return true
    return this.#events === 0 && this.#session.deps.clock.monotonic() - this.#beganMs >= mostIdleMs
  }

  add(page: ReadPage, scan: Scan): ScanStep {
    const { now, policy, sureNow } = this.#session
    const { step, after } = afterPage(
      this.after,
      scan,
      page.facts,
      { nowMs: now(), sureMs: sureNow() },
      policy,
    )
    this.pages.push({ ...page, scan, step, after })
    this.#bytes += page.bytes
    this.#events += page.unseen.length
    return step
  }
}

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
  const { deps, job, now, policy } = session
  const before = session.checkpoint()
  const due = { checkpoint: before, kind: dueOf(session, before).kind, readRequest: job.readRequest }
  const unfinished = due.kind === 'archive' ? reading.archive : undefined
  const next = unfinished ?? (await begin(session, scanFor(due, now(), policy)))
  const begun = takeKept(target, reading, load, next)
  let { scan } = begun
  // The sink may have left over events of the last page.
  if (begun.end !== 'none') return { scan, why: 'scan' }
  if (load.hasEnough) return { scan, why: 'full' }
  for (;;) {
    const page = await readPage(session, target, reading, scan, load, signal)
    if (isFailure(page, 'no_room')) return { scan, why: 'full' }
    if (isFailure(page)) return { scan, why: 'failure', failure: page }
    const { requestedAt, ageMs = 0, facts } = page
    reading.latestMs = Math.max(reading.latestMs ?? 0, requestedAt)
    reading.madeByMs = requestedAt + facts.tookMs - Math.max(0, ageMs - ageStepMs)
    // By the API's clock, whose offset is known best after the answer.
    const beganAtMs = requestedAt - ageMs + deps.apiClock.offsetOf(job.zone.account)
    const dated = { ...scan, beganAtMs, ...(ageMs > 0 && { ageMs }) }
    const step = load.add(page, scan.pages === 0 ? dated : scan)
    scan = step.scan
    const tookMs = deps.clock.monotonic() - reading.beganMs
    // An archive is read in one go: no checkpoint says where it is.
    const isSliced = scan.kind !== 'archive' && tookMs >= sliceOf(session.checkpoint().restarts)
    reading.isOver = isSliced || !job.mayGoOn()
    if (step.end !== 'none') return { scan, why: 'scan' }
    if (reading.isOver) return { scan, why: 'slice' }
    if (dueOf(session, load.after).kind !== scan.kind || !isDue(session, load.after))
      return { scan, why: 'turn' }
    if (load.isFull) return { scan, why: 'full' }
  }
}

/** Takes off what was known and need not be listed any more. Only the last scan of a day asks the store for it. */
async function begin({ deps, job }: Session, scan: Scan): Promise<Scan> {
  const { sinceMs, pages, known } = scan
  if (sinceMs === undefined || pages > 0) return scan
  const fromMinute = minuteOf(sinceMs)
  const minutes = await deps.store.ledger.minutes(job.stream)
  const older = minutes.filter(({ minute }) => minute !== untimedMinute && minute < fromMinute)
  return { ...scan, known: Math.max(0, known - sumOf(older, 'count')) }
}

function dueOf({ job, now, policy }: Session, checkpoint: Checkpoint): Due {
  return nextDue({ stream: job.stream, checkpoint, readRequest: job.readRequest }, now(), policy)
}

export function isDue(session: Session, checkpoint: Checkpoint): boolean {
  const nowMs = session.now()
  return dueAt(dueOf(session, checkpoint), troubleOf(session.job, checkpoint), nowMs) <= nowMs
}

/**
 * The failure of its request is returned. Entries that are all seen are free when it resolves: the variables of a
 * function that waits for the next page would still hold them.
 */
async function readPage(
  session: Session,
  target: SinkTarget,
  reading: Reading,
  scan: Scan,
  { pages }: Load,
  signal: AbortSignal,
): Promise<ReadPage | Failure> {
  let fetched: FetchedPage
  try {
    fetched = await takePage(session, reading, scan, { isFirst: pages.length === 0 }, signal)
  } catch (error) {
    if (!isFailure(error) || error.code === 'cancelled') throw error
    return error
  }
  return identify(session, target, reading, scan, fetched)
}

/** Begins the load with the pages that were kept for it; drops them where another scan is due first. */
export function takeKept(target: SinkTarget, reading: Reading, load: Load, begun: Scan) {
  const { kept } = reading
  reading.kept = []
  let step: Pick<ScanStep, 'scan' | 'end'> = { scan: begun, end: 'none' }
  if (kept[0]?.scan.kind === begun.kind && kept[0].facts.cursor === begun.cursor)
    for (const page of kept) step = load.add(page, step.scan)
  else {
    for (const { release } of kept) release()
    target.seen.add([])
  }
  return step
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
  return fetchPage(session, isFirst ? request : { ...request, ifRoom: true }, signal)
}

export function requestFor(session: Session, reading: Reading, scan: Scan): PageRequest {
  const { zone, stream, priority } = session.job
  const { lastFull } = session.checkpoint()
  const { cursor, kind } = scan
  // Polls read the same one or two pages again and again.
  const isPolledAgain = lastFull !== undefined && (kind === 'incremental' || lastFull.pages <= 2)
  const known = reading.known.values().find((page) => page.cursor === cursor)?.hash ?? ''
  const since = sharedSince(session, reading, scan)
  const request = { zone, day: stream.day, cursor, scan, priority, sink: stream.sink, ...since }
  return isPolledAgain ? { ...request, known } : request
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
  const asked = [lastFull, lastIncremental].map((last) => (last ? askedAtOf(last) + 1 : 0))
  const byApiClock = [...passed, ...asked]
  const requestedSince = Math.max(
    Math.max(...byApiClock) - deps.apiClock.offsetOf(job.zone.account),
    (latestMs ?? -1) + 1,
    job.readRequest === undefined ? 0 : beganAtMs,
  )
  return { requestedSince, freshForMs }
}

/** Once for each answer: one that several streams share must not confirm itself. */
function learnTime({ deps, job }: Session, { shared, ageMs = 0, clockOffsetMs, connection }: Page): void {
  const { account } = job.zone
  if (shared !== undefined || ageMs > 0) return
  if (clockOffsetMs !== undefined) deps.apiClock.learn(account, clockOffsetMs, connection)
  else deps.apiClock.listed(account, job.stream.day)
}

/** Takes the API's time from a page, and finds what is new on it. */
async function identify(
  session: Session,
  { seen, sink: { wants } }: SinkTarget,
  { known, madeByMs, beganAtMs }: Reading,
  scan: Scan,
  { page, tookMs }: FetchedPage,
): Promise<ReadPage> {
  const { deps, job, now } = session
  const { stream, priority } = job
  const { hash, bytes, requestedAt, ageMs = 0, release } = page
  const { cursor, pages } = scan
  const read = { hash, bytes, requestedAt, ageMs, release }
  const isOlder = ageMs > 0 && pages > 0 && requestedAt - ageMs < (madeByMs ?? beganAtMs)
  const tell = (events: number) =>
    deps.telemetry.emit({ name: 'PageFetched', stream, priority, events, bytes })
  learnTime(session, page)
  // The same as at an earlier poll, with every event seen since then: it is not parsed.
  const same = known.get(hash ?? '')
  if (same?.after === soFar(scan)) {
    const facts = JSON.parse(same.facts) as PageFacts
    tell(facts.events)
    return { ...read, facts: { ...facts, cursor, tookMs, isOlder }, unseen: [], wanted: [] }
  }
  try {
    const content = page.content()
    const { events } = content
    tell(events.length)
    const sighted = await seen.sight(events, scan)
    const { unseen } = sighted
    tellRepeatedIds(session, unseen)
    const again = unseen.length === events.length ? seen.seenUnderOtherTime(unseen) : undefined
    if (again !== undefined) {
      const { id, time = '' } = again
      deps.telemetry.emit({ name: 'TimesChangedPrecision', stream, id, time })
    }
    seen.hold(unseen)
    const at = { cursor, nowMs: now(), tookMs, owed: scan.owed ?? [], isOlder }
    const facts = factsOf(content, at, sighted)
    return { ...read, facts, unseen, wanted: wants === undefined ? unseen : unseen.filter(wants) }
  } catch (error) {
    release()
    throw error
  }
}

/**
 * Emits one internal event when two unseen events of a page have the same id; as each is there once, their times differ.
 * Emits one when an event has an own id, because another one has the same id and time.
 */
function tellRepeatedIds({ deps, job }: Session, unseen: readonly Event[]): void {
  const { stream } = job
  const own = unseen.find(({ hasOwnId }) => hasOwnId === true)
  if (own !== undefined) deps.telemetry.emit({ name: 'IdSharedByEvents', stream, id: own.id })
  const ids = new Set<string>()
  const again = unseen.find(({ id }) => ids.size === ids.add(id).size)
  if (again !== undefined) deps.telemetry.emit({ name: 'IdSeenWithOtherTime', stream, id: again.id })
}
