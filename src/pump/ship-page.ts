import { todayOf } from '../domain/plan/stream-state.ts'
import type { Delivery } from '../domain/event/delivery.ts'
import type { Event } from '../domain/event/event.ts'
import { factsOf } from '../domain/scan/page.ts'
import { stepOf } from '../domain/scan/progress.ts'
import type { Scan, ScanStep } from '../domain/scan/scan.ts'
import { deliver } from './commit-delivery.ts'
import { fetchAhead, fetchPage, type FetchedPage, type PageAhead } from './fetch-page.ts'
import type { PageRequest } from '../ports/delivery.ts'
import { commitPage, tellRepeatedIds } from './page-commit.ts'
import type { SinkTarget } from './open-sink.ts'
import type { Session } from './session.ts'

const nothing: Delivery = { refusals: [], committed: [], bytes: 0 }

/**
 * The next page is parsed during a delivery only after a page of at most this size: parsed entries take several times
 * the memory of the answer, and all streams may do so at once.
 */
const parsedAheadBytes = 1_048_576

/** What a pump remembers from page to page, besides its checkpoint. */
export interface Going {
  ahead: PageAhead | undefined
  /** The sink has taken a page of this pump. Before that nothing is fetched ahead: a sink that hangs would hold it. */
  sinkMoves: boolean
}

/**
 * Ships one page: fetch, drop seen and filtered events, deliver, commit. Resolves after the commit; by then the next
 * page is being fetched ahead if the scan continues.
 */
export async function shipPage(
  session: Session,
  target: SinkTarget,
  going: Going,
  scan: Scan,
  signal: AbortSignal,
): Promise<ScanStep> {
  const { deps, job } = session
  const { page, tookMs } = await takePage(session, going, scan, signal)
  try {
    const { stream, priority, zone } = job
    if (page.clockOffsetMs !== undefined)
      deps.apiClock.learn(zone.account, page.clockOffsetMs, page.connection)
    else if (stream.day === todayOf(deps.clock.steady())) deps.apiClock.listedToday(zone.account)
    const { events, bytes } = page
    deps.telemetry.emit({ name: 'PageFetched', stream, priority, events: events.length, bytes })
    const unseen = await target.seen.unseenOf(events)
    tellRepeatedIds(deps.telemetry, stream, unseen)
    const begun = scan.pages === 0 ? { ...scan, beganAtMs: beganAt(session, page.requestedAt) } : scan
    const facts = factsOf(page, {
      cursor: scan.cursor,
      mark: session.checkpoint().mark,
      nowMs: session.now(),
      unseen,
      tookMs,
    })
    const step = stepOf(session.checkpoint(), begun, facts, session.policy)
    const wanted = wantedOf(target, unseen)
    const isDelivered = wanted.length > 0
    if (step.end === 'none' && (going.sinkMoves || !isDelivered) && job.mayGoOn())
      going.ahead = fetchAhead(deps, requestFor(session, step.scan), signal)
    const delivering = isDelivered ? deliver(session, target, wanted, signal) : nothing
    if (bytes <= parsedAheadBytes) going.ahead?.want()
    const delivery = await delivering
    await commitPage(session, target.seen, { scan: begun, step, facts, unseen, wanted, delivery })
    going.sinkMoves ||= isDelivered
    return step
  } finally {
    page.release()
  }
}

/** Events that the sink is to get; the others are seen with the commit of the page. */
function wantedOf({ sink: { wants } }: SinkTarget, unseen: readonly Event[]): readonly Event[] {
  return wants === undefined ? unseen : unseen.filter(wants)
}

async function takePage(
  session: Session,
  going: Going,
  scan: Scan,
  signal: AbortSignal,
): Promise<FetchedPage> {
  const { ahead } = going
  going.ahead = undefined
  if (ahead !== undefined && ahead.cursor === scan.cursor) return ahead.take()
  await ahead?.discard()
  return fetchPage(session.deps, requestFor(session, scan), signal)
}

function requestFor({ job: { zone, stream, priority } }: Session, { cursor }: Scan): PageRequest {
  return { zone, day: stream.day, cursor, priority, sink: stream.sink }
}

/** The start by the API's clock, whose offset is known best after the answer. */
function beganAt({ deps, job }: Session, requestedAt: number): number {
  return requestedAt + deps.apiClock.offsetOf(job.zone.account)
}
