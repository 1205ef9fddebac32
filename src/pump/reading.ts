import type { Checkpoint } from '../domain/checkpoint.ts'
import { endOf, startOf } from '../domain/day.ts'
import type { Event } from '../domain/event/event.ts'
import {
  asListed,
  minuteOf,
  type MinuteCount,
  unpackFingerprints,
  untimedMinute,
} from '../domain/event/seen.ts'
import { isFailure, type Failure } from '../domain/failure.ts'
import { dueAt, nextDue, type Due } from '../domain/plan/due.ts'
import { troubleOf } from '../domain/plan/plan.ts'
import { loadBytes, sliceOf } from '../domain/policy.ts'
import { isListingTrouble } from '../domain/retry.ts'
import { factsOf, type Page, type PageFacts } from '../domain/scan/page.ts'
import { afterPage, scanFor } from '../domain/scan/progress.ts'
import { askedAtOf, type Scan, type ScanStep } from '../domain/scan/scan.ts'
import { sumOf } from '../domain/text/terminal-text.ts'
import type { LoadBounds, PageRequest } from '../ports/delivery.ts'
import type { Delivered } from './commit-delivery.ts'
import { fetchAhead, fetchPage, type FetchedPage, type PageAhead } from './fetch-page.ts'
import { soFar, type KnownPage } from './latest-pages.ts'
import type { SinkTarget } from './open-sink.ts'
import type { Session } from './session.ts'

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

const bounds: LoadBounds = { bytes: loadBytes, events: 10_000, pages: 100 }
/** So long a load without anything new is read on: a crash costs that it is read again. */
const mostIdleMs = 1_000

/**
 * Why a load has no further page: it is full; the time slice has ended; the scan has ended, or another one is due; or the
 * next page could not be read.
 */
type LoadEnd = 'full' | 'slice' | 'scan' | Failure

/**
 * Consecutive pages of one scan, which are delivered and committed together. Nothing of it is in the session's
 * checkpoint before its commit: a failure, an expiry or a restart commits what is in the store.
 */
export class Load {
  readonly pages: LoadPage[] = []
  /** After its pages. */
  scan: Scan
  end: LoadEnd = 'full'
  readonly #session: Session
  readonly #bounds: LoadBounds
  readonly #beganMs: number
  #bytes = 0
  #events = 0

  constructor(session: Session, scan: Scan, own: Partial<LoadBounds> = {}) {
    this.#session = session
    this.#bounds = { ...bounds, ...own }
    this.#beganMs = session.deps.clock.monotonic()
    this.scan = scan
  }

  /** The checkpoint after its pages, without what becomes of their events. */
  get after(): Checkpoint {
    return this.pages.at(-1)?.after ?? this.#session.checkpoint()
  }

  /** The scan has ended with its last page. */
  get isLast(): boolean {
    return (this.pages.at(-1)?.step.end ?? 'none') !== 'none'
  }

  get hasEnough(): boolean {
    return this.#bytes >= this.#bounds.bytes || this.#events >= this.#bounds.events
  }

  get isFull(): boolean {
    if (this.hasEnough || this.pages.length >= this.#bounds.pages) return true
    return this.#events === 0 && this.#session.deps.clock.monotonic() - this.#beganMs >= mostIdleMs
  }

  /** A scan that goes on reads again what the sink has left over. After some failures it is not continued at its cursor. */
  get goesOn(): boolean {
    if (!isFailure(this.end)) return this.end !== 'scan'
    return this.end.code !== 'window_closed' && !isListingTrouble(this.end)
  }

  add(page: ReadPage, scan = this.scan): void {
    const { now, policy, sureNow } = this.#session
    const at = { nowMs: now(), sureMs: sureNow() }
    const { step, after } = afterPage(this.after, scan, page.facts, at, policy)
    this.pages.push({ ...page, scan, step, after })
    this.scan = step.scan
    this.#bytes += page.bytes
    this.#events += page.unseen.length
  }

  /** Its scan must meet later what an object that was adopted holds besides these pages; that of an archive need not. */
  adopt({ unseen, holds }: NonNullable<Delivered['adoption']>): void {
    if (this.scan.kind === 'archive') return
    const pages = this.pages.splice(0)
    const { scan } = pages[0]!
    const { sinceMs = -Infinity } = scan
    const due = unseen.filter(({ timeMs = Infinity }) => timeMs >= sinceMs)
    const listed = pages.flatMap((page) => page.unseen.filter(holds))
    this.scan = { ...scan, known: scan.known + Math.max(0, asListed(due) - asListed(listed)) }
    for (const page of pages) this.add(page)
  }
}

/** Ages are told in whole seconds. */
const ageStepMs = 1_000

/** The first page of a scan dates it: an older answer of another stream would make the lag look larger than it is. */
const freshForMs = 5_000

/**
 * The next page is parsed during a delivery only after a page of at most this size: parsed entries take several times
 * the memory of the answer, and all streams may do so at once.
 */
const parsedAheadBytes = 1_048_576

/**
 * What one pump reads: load after load of the scan that is due, without what the stream has seen. It remembers what no
 * checkpoint has, and holds the memory of the pages that are not committed. Its states:
 *
 * - `untried`: the sink has taken no load of this pump. Nothing is fetched during a delivery: a sink that hangs would
 *   hold it.
 * - `moving`: the next page is fetched during a delivery.
 * - `over`: the time slice or the stream has ended, or more urgent work waits. No further load is read.
 */
export class Reading implements AsyncDisposable {
  readonly session: Session
  readonly target: SinkTarget
  readonly signal: AbortSignal
  /** The cursor of an unfinished scan has expired under this pump. */
  hasRestarted = false
  #state: 'untried' | 'moving' | 'over' = 'untried'
  readonly #beganMs: number
  /** The same instant, by the steady clock. */
  readonly #beganAtMs: number
  /** When the latest page of the stream was requested, by the steady clock; undefined where that is not known. */
  #latestMs: number | undefined
  /** The latest page was made by then at the latest, by the steady clock; undefined for one of another pump. */
  #madeByMs: number | undefined
  /** Pages of earlier polls of which every event is seen, by their hashes. */
  readonly #known: ReadonlyMap<string, KnownPage>
  #ahead: PageAhead | undefined
  /** Where the scan of an archive is: no checkpoint has it. */
  #archive: Scan | undefined
  /**
   * Pages that are not committed: those of the load; between loads those of which the sink kept back the last events,
   * since they fill no body. The next load begins with these.
   */
  #pages: readonly LoadPage[] = []

  constructor(session: Session, target: SinkTarget, signal: AbortSignal) {
    const { clock, latestPages } = session.deps
    this.session = session
    this.target = target
    this.signal = signal
    this.#beganMs = clock.monotonic()
    this.#beganAtMs = clock.steady()
    const latest = latestPages?.of(session.checkpoint())
    this.#latestMs = latest?.requestedAt
    this.#known = new Map(latest?.pages.map((page) => [page.hash, page]))
  }

  /** Whether another load is to be read now. */
  get isDue(): boolean {
    return this.#state !== 'over' && !this.signal.aborted && this.#isDue(this.session.checkpoint())
  }

  get hasLeft(): boolean {
    return this.#pages.length > 0
  }

  end(): void {
    this.#state = 'over'
  }

  /**
   * Reads pages of the scan that is due: until the load is full, the scan ends or gives way to another one, the time slice
   * ends, or the next page fails or would have to wait for memory. Throws what is no failure of a page.
   */
  async nextLoad(): Promise<Load> {
    const { job, now, policy, sureNow } = this.session
    const checkpoint = this.session.checkpoint()
    const at = { nowMs: now(), sureMs: sureNow() }
    const due = { checkpoint, kind: this.#dueOf(checkpoint).kind, readRequest: job.readRequest }
    const unfinished = due.kind === 'archive' ? this.#archive : undefined
    const load = this.#begin(unfinished ?? (await this.#sized(scanFor(due, at, policy))))
    load.end = await this.#fill(load)
    return load
  }

  /** What is left of a load whose scan does not go on: nothing reads it again. */
  rest({ end }: Load): Load {
    return Object.assign(this.#begin(this.#pages[0]!.scan), { end })
  }

  /** Fetches the page after a load, while that is delivered. */
  fetchAhead({ end, pages, scan }: Load, isNeeded: boolean): void {
    if (end === 'full' && (this.#state === 'moving' || !isNeeded))
      this.#ahead ??= fetchAhead(this.session, this.#requestFor(scan), this.signal)
    if (pages.at(-1)!.bytes <= parsedAheadBytes) this.#ahead?.want()
  }

  /** After the commit of a load, of which these pages are left. */
  committed({ pages }: Load, left: readonly LoadPage[], hasTaken: boolean): void {
    const { latestPages } = this.session.deps
    const last = pages.at(-1)!
    if (last.scan.kind === 'archive') this.#archive = left[0]?.scan ?? last.step.scan
    latestPages?.note(this.session.checkpoint(), pages.slice(0, pages.length - left.length))
    if (hasTaken && this.#state === 'untried') this.#state = 'moving'
    this.#keep(left)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#keep([])
    await this.#ahead?.discard()
  }

  #keep(left: readonly LoadPage[]): void {
    const kept = new Set(left.map(({ release }) => release))
    for (const { release } of this.#pages) if (!kept.has(release)) release()
    this.#pages = left
  }

  /** Begins a load with the pages that were kept for it; drops them where another scan is due first. */
  #begin(scan: Scan): Load {
    const { session, target } = this
    const load = new Load(session, scan, target.sink.load)
    const kept = this.#pages[0]
    if (kept?.scan.kind === scan.kind && kept.facts.cursor === scan.cursor)
      for (const page of this.#pages) load.add(page)
    else {
      this.#keep([])
      target.seen.add([])
    }
    this.#pages = load.pages
    return load
  }

  async #fill(load: Load): Promise<LoadEnd> {
    const { deps, job, checkpoint } = this.session
    // The sink may have left over events of the last page.
    if (load.isLast) return 'scan'
    if (load.hasEnough) return 'full'
    for (;;) {
      const { scan } = load
      const page = await this.#readPage(load)
      if (isFailure(page)) return page.code === 'no_room' ? 'full' : page
      const { requestedAt, ageMs = 0, facts } = page
      this.#latestMs = Math.max(this.#latestMs ?? 0, requestedAt)
      this.#madeByMs = requestedAt + facts.tookMs - Math.max(0, ageMs - ageStepMs)
      load.add(page, scan.pages === 0 ? { ...scan, ...this.#dateOf(page) } : scan)
      const tookMs = deps.clock.monotonic() - this.#beganMs
      // An archive is read in one go: no checkpoint says where it is.
      const isSliced = scan.kind !== 'archive' && tookMs >= sliceOf(checkpoint().restarts)
      const isOver = isSliced || !job.mayGoOn()
      if (isOver) this.end()
      if (load.isLast) return 'scan'
      if (isOver) return 'slice'
      if (this.#dueOf(load.after).kind !== scan.kind || !this.#isDue(load.after)) return 'scan'
      if (load.isFull) return 'full'
    }
  }

  /** By the API's clock, whose offset is known best after the answer. */
  #dateOf({ requestedAt, ageMs = 0 }: ReadPage): Pick<Scan, 'beganAtMs' | 'ageMs'> {
    const { deps, job, checkpoint } = this.session
    const { account } = job.zone
    const askedAtMs = requestedAt + deps.apiClock.offsetOf(account)
    if (ageMs === 0) return { beganAtMs: askedAtMs }
    // A cache tells no time, and while nothing else has, this host's clock may be days ahead: it proves nothing new.
    const isHeard = deps.apiClock.earliest(account) !== undefined
    const { caughtUpAtMs = startOf(job.stream.day) } = checkpoint()
    const beganAtMs = isHeard ? askedAtMs - ageMs : Math.min(askedAtMs - ageMs, caughtUpAtMs)
    return { beganAtMs, ageMs: askedAtMs - beganAtMs }
  }

  #dueOf(checkpoint: Checkpoint): Due {
    const { job, now, policy } = this.session
    return nextDue({ stream: job.stream, checkpoint, readRequest: job.readRequest }, now(), policy)
  }

  #isDue(checkpoint: Checkpoint): boolean {
    const nowMs = this.session.now()
    return dueAt(this.#dueOf(checkpoint), troubleOf(this.session.job, checkpoint), nowMs) <= nowMs
  }

  /** Takes off what was known and need not be listed any more. Only the last scan of a day asks the store for it. */
  async #sized(scan: Scan): Promise<Scan> {
    const { sinceMs, pages, known } = scan
    if (sinceMs === undefined || pages > 0) return scan
    const fromMinute = minuteOf(sinceMs)
    const { deps, job, checkpoint } = this.session
    const minutes = await deps.store.ledger.minutes(job.stream)
    const older = minutes.filter(({ minute }) => minute !== untimedMinute && minute < fromMinute)
    // The ledger counts events with an own id too, and what the API never listed.
    const isListed = sumOf(minutes, 'count') === checkpoint().listed
    const slid = isListed ? sumOf(older, 'count') : await this.#listedIn(older)
    return { ...scan, known: Math.max(0, known - slid) }
  }

  /** How many events of these minutes are seen as they are listed. An hour at a time: an index may be large. */
  async #listedIn(minutes: readonly MinuteCount[]): Promise<number> {
    const hours = Map.groupBy(minutes, ({ minute }) => Math.floor(minute / 60)).values()
    let listed = 0
    for (const hour of hours) {
      const packed = await this.session.loadSeen(hour.map(({ minute }) => minute))
      for (const bytes of packed.values())
        listed += asListed(unpackFingerprints(bytes).map((fingerprint) => ({ fingerprint })))
    }
    return listed
  }

  /**
   * The failure of its request is returned. Entries that are all seen are free when it resolves: the variables of a
   * function that waits for the next page would still hold them.
   */
  async #readPage({ pages, scan }: Load): Promise<ReadPage | Failure> {
    let fetched: FetchedPage
    try {
      fetched = await this.#takePage(scan, pages.length === 0)
    } catch (error) {
      if (!isFailure(error) || error.code === 'cancelled') throw error
      return error
    }
    return this.#identify(scan, fetched)
  }

  /** A page waits for memory only where its load holds none: otherwise loads could wait for each other. */
  async #takePage(scan: Scan, isFirst: boolean): Promise<FetchedPage> {
    const ahead = this.#ahead
    this.#ahead = undefined
    if (ahead !== undefined && ahead.cursor === scan.cursor) {
      try {
        return await ahead.take()
      } catch (error) {
        if (!isFirst || !isFailure(error, 'no_room')) throw error
      }
    } else await ahead?.discard()
    const request = this.#requestFor(scan)
    return fetchPage(this.session, isFirst ? request : { ...request, ifRoom: true }, this.signal)
  }

  #requestFor(scan: Scan): PageRequest {
    const { zone, stream, priority } = this.session.job
    const { lastFull } = this.session.checkpoint()
    const { cursor, kind } = scan
    // Polls read the same one or two pages again and again.
    const isPolledAgain = lastFull !== undefined && (kind === 'incremental' || lastFull.pages <= 2)
    const known = this.#known.values().find((page) => page.cursor === cursor)?.hash ?? ''
    const since = this.#sharedSince(scan)
    const request = { zone, day: stream.day, cursor, scan, priority, sink: stream.sink, ...since }
    return isPolledAgain ? { ...request, known } : request
  }

  /**
   * Which answers serve this stream too. The first page of a scan must be newer than the scan before it, and than what
   * made this one due where that is an instant; a later page no older than the page before it.
   */
  #sharedSince({ pages }: Scan): Pick<PageRequest, 'requestedSince' | 'freshForMs'> {
    const { deps, job, checkpoint, policy, now } = this.session
    if (pages > 0) return { requestedSince: this.#latestMs ?? this.#beganAtMs }
    const { lastFull, lastIncremental } = checkpoint()
    const points = policy.settleAfterMs.map((afterMs) => endOf(job.stream.day) + afterMs)
    const passed = points.filter((pointMs) => pointMs <= now())
    const asked = [lastFull, lastIncremental].map((last) => (last ? askedAtOf(last) + 1 : 0))
    const requestedSince = Math.max(
      Math.max(...passed, ...asked) - deps.apiClock.offsetOf(job.zone.account),
      (this.#latestMs ?? -1) + 1,
      job.readRequest === undefined ? 0 : this.#beganAtMs,
    )
    return { requestedSince, freshForMs }
  }

  /** Takes the API's time from a page, and finds what is new on it. */
  async #identify(scan: Scan, { page, tookMs }: FetchedPage): Promise<ReadPage> {
    const { deps, job, now } = this.session
    const { seen, sink } = this.target
    const { stream, priority } = job
    const { hash, bytes, requestedAt, ageMs = 0, release } = page
    const { cursor, pages } = scan
    const read = { hash, bytes, requestedAt, ageMs, release }
    const isOlder = ageMs > 0 && pages > 0 && requestedAt - ageMs < (this.#madeByMs ?? this.#beganAtMs)
    const tell = (events: number) =>
      deps.telemetry.emit({ name: 'PageFetched', stream, priority, events, bytes })
    learnTime(this.session, page)
    // The same as at an earlier poll, with every event seen since then: it is not parsed.
    const same = this.#known.get(hash ?? '')
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
      tellRepeatedIds(this.session, unseen)
      const again = unseen.length === events.length ? seen.seenUnderOtherTime(unseen) : undefined
      if (again !== undefined) {
        const { id, time = '' } = again
        deps.telemetry.emit({ name: 'TimesChangedPrecision', stream, id, time })
      }
      seen.hold(unseen)
      const at = { cursor, nowMs: now(), tookMs, owed: scan.owed ?? [], isOlder }
      const wanted = sink.wants === undefined ? unseen : unseen.filter(sink.wants)
      return { ...read, facts: factsOf(content, at, sighted), unseen, wanted }
    } catch (error) {
      release()
      throw error
    }
  }
}

/** Once for each answer: one that several streams share must not confirm itself. */
function learnTime({ deps, job }: Session, { shared, ageMs = 0, clockOffsetMs, connection }: Page): void {
  const { account } = job.zone
  if (shared !== undefined || ageMs > 0) return
  if (clockOffsetMs !== undefined) deps.apiClock.learn(account, clockOffsetMs, connection)
  else deps.apiClock.listed(account, job.stream.day)
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
