import { todayOf } from '../domain/plan/stream-state.ts'
import type { Delivery } from '../domain/event/delivery.ts'
import type { Event } from '../domain/event/event.ts'
import { factsOf } from '../domain/scan/page.ts'
import { stepOf } from '../domain/scan/progress.ts'
import type { Scan, ScanStep } from '../domain/scan/scan.ts'
import { deliver } from './commit-delivery.ts'
import { fetchAhead, fetchTimed, type FetchedPage, type PageAhead } from './fetch-page.ts'
import { commitPage, tellRepeatedIds } from './page-commit.ts'
import type { SinkTarget } from './open-sink.ts'
import type { Session } from './session.ts'

const nothing: Delivery = { refusals: [], committed: [], bytes: 0 }

/**
 * The next page is parsed during a delivery only after a page of at most this size: parsed entries take several times
 * the memory of the answer, and all streams may do so at once.
 */
const parsedAheadBytes = 1_048_576

/** The state of a pump before its next page. */
interface PageTurn {
  readonly scan: Scan
  readonly ahead: PageAhead | undefined
  /** The sink has taken a page of this pump. Before that nothing is fetched ahead: a sink that hangs would hold it. */
  readonly sinkMoves: boolean
}

/**
 * Ships one page: fetch, drop seen and filtered events, deliver, commit. Resolves after the commit, with the page that
 * is being fetched ahead if the scan continues.
 */
export async function shipPage(
  session: Session,
  target: SinkTarget,
  { scan, ahead, sinkMoves }: PageTurn,
  signal: AbortSignal,
): Promise<{ step: ScanStep; ahead: PageAhead | undefined; sinkMoves: boolean }> {
  const { deps, job } = session
  const fetched = await pageAt(session, scan, ahead, signal)
  const { page } = fetched
  let next: PageAhead | undefined
  try {
    const { stream, priority, zone } = job
    if (page.clockOffsetMs !== undefined)
      deps.apiClock.learn(zone.account, page.clockOffsetMs, page.connection)
    else if (stream.day === todayOf(deps.clock.steady())) deps.apiClock.listedToday(zone.account)
    deps.telemetry.emit({
      name: 'PageFetched',
      stream,
      priority,
      events: page.events.length,
      bytes: page.bytes,
    })
    const unseen = await target.seen.unseenOf(page.events)
    tellRepeatedIds(deps.telemetry, stream, unseen)
    const begun = scan.pages === 0 ? { ...scan, beganAtMs: beganAt(session, page.requestedAt) } : scan
    const facts = factsOf(page, {
      cursor: scan.cursor,
      mark: session.checkpoint().mark,
      nowMs: session.now(),
      unseen,
      tookMs: fetched.tookMs,
    })
    const step = stepOf(session.checkpoint(), begun, facts, session.policy)
    const wanted = wantedOf(session, unseen)
    const isDelivered = wanted.length > 0
    if (step.end === 'none' && (sinkMoves || !isDelivered) && job.mayGoOn())
      next = nextPage(session, step.scan, signal)
    const delivering = !isDelivered ? nothing : deliver(session, target.open, wanted, signal)
    if (page.bytes <= parsedAheadBytes) next?.want()
    const delivery = await delivering
    await commitPage(session, target.seen, { scan: begun, step, facts, unseen, wanted, delivery })
    return { step, ahead: next, sinkMoves: sinkMoves || isDelivered }
  } catch (error) {
    await next?.discard()
    throw error
  } finally {
    page.release()
  }
}

/** Events that the sink is to get; the others are seen with the commit of the page. */
function wantedOf({ job }: Session, unseen: readonly Event[]): readonly Event[] {
  const { wants } = job.sink
  return wants === undefined ? unseen : unseen.filter(wants)
}

async function pageAt(
  session: Session,
  scan: Scan,
  ahead: PageAhead | undefined,
  signal: AbortSignal,
): Promise<FetchedPage> {
  if (ahead !== undefined && ahead.cursor === scan.cursor) return ahead.take()
  await ahead?.discard()
  return fetchTimed(session.source, session.deps.clock, requestFor(session, scan), signal)
}

function nextPage(session: Session, scan: Scan, signal: AbortSignal): PageAhead {
  return fetchAhead(session.source, session.deps.clock, requestFor(session, scan), signal)
}

function requestFor({ job }: Session, scan: Scan) {
  return {
    zone: job.zone,
    day: job.stream.day,
    cursor: scan.cursor,
    priority: job.priority,
    sink: job.stream.sink,
  }
}

/** The start by the API's clock, whose offset is known best after the answer. */
function beganAt({ deps, job }: Session, requestedAt: number): number {
  return requestedAt + deps.apiClock.offsetOf(job.zone.account)
}
