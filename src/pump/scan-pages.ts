import { dayOf } from '../domain/day.ts'
import { Failure, isFailure } from '../domain/failure.ts'
import { answerRequest } from '../domain/read-request.ts'
import { isListingTrouble } from '../domain/retry.ts'
import { dropScans } from '../domain/checkpoint.ts'
import type { Scan, ScanStep } from '../domain/scan/scan.ts'
import { deliver, type Delivered } from './commit-delivery.ts'
import { endAsExpired, endsBy, noLongerKept } from './end-stream.ts'
import { fetchAhead } from './fetch-page.ts'
import { Load, type LoadPage } from './load.ts'
import { commitLoad } from './load-commit.ts'
import type { SinkTarget } from './open-sink.ts'
import { isDue, readLoad, requestFor, takeKept, type LoadEnd, type Reading } from './read-load.ts'
import type { Session } from './session.ts'

/**
 * Ships the scan that is due load by load, until none is due, the time slice ends (after at least one page), more
 * urgent work waits, or the signal aborts. Resolves with a failure only when a read request for the day can never be
 * served.
 */
export async function scanPages(
  session: Session,
  target: SinkTarget,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const { clock, latestPages } = session.deps
  const latest = latestPages?.of(session.checkpoint())
  const going: Going = {
    beganMs: clock.monotonic(),
    beganAtMs: clock.steady(),
    latestMs: latest?.requestedAt,
    known: new Map(latest?.pages.map((page) => [page.hash, page])),
    ahead: undefined,
    kept: [],
    isOver: false,
    sinkMoves: false,
    hasRestarted: false,
  }
  try {
    do {
      const ended = await shipNextLoad(session, target, going, signal)
      if (ended !== undefined) return ended.failure
    } while (!signal.aborted && !going.isOver && isDue(session, session.checkpoint()))
    return undefined
  } finally {
    for (const { release } of going.kept) release()
    await going.ahead?.discard()
  }
}

/** Resolves with a value where the stream has ended. */
async function shipNextLoad(
  session: Session,
  target: SinkTarget,
  going: Going,
  signal: AbortSignal,
): Promise<Ending | undefined> {
  const load = new Load(session, target.sink.load)
  try {
    const end = await readLoad(session, target, going, load, signal)
    await shipLoad(session, target, going, load, end, signal)
    // What is left over of a scan that does not go on is shipped at once: nothing reads it again.
    while (end.failure !== undefined && !goesOn(end) && going.kept.length > 0) {
      const rest = new Load(session, target.sink.load)
      takeKept(target, going, rest, going.kept[0]!.scan)
      await shipLoad(session, target, going, rest, end, signal)
    }
    return end.failure && (await afterFailure(session, end.scan, going, end.failure))
  } finally {
    const kept = new Set(going.kept.map(({ release }) => release))
    for (const { release } of load.pages) if (!kept.has(release)) release()
  }
}

/** A scan that goes on reads again what the sink has left over. */
function goesOn({ why, failure }: LoadEnd): boolean {
  return why === 'full' || why === 'slice' || (failure !== undefined && !dropsScan(failure))
}

interface Ending {
  readonly failure: Failure | undefined
}

/** What a pump remembers from load to load, besides its checkpoint. */
interface Going extends Reading {
  /** The sink has taken a load of this pump. Before that nothing is fetched ahead: a sink that hangs would hold it. */
  sinkMoves: boolean
  /** The cursor of an unfinished scan has expired under this pump. */
  hasRestarted: boolean
}

/** Nothing to deliver. */
const nothing: Delivered = { delivery: { refusals: [], committed: [], bytes: 0 } }

/**
 * The next page is parsed during a delivery only after a page of at most this size: parsed entries take several times
 * the memory of the answer, and all streams may do so at once.
 */
const parsedAheadBytes = 1_048_576

/** Delivers a load and commits it; the next page is fetched meanwhile where the scan goes on. */
async function shipLoad(
  session: Session,
  target: SinkTarget,
  going: Going,
  { pages }: Load,
  end: LoadEnd,
  signal: AbortSignal,
): Promise<void> {
  const { why, scan } = end
  const last = pages.at(-1)
  if (last === undefined) return
  const wanted = pages.flatMap((page) => page.wanted)
  if (why === 'full' && (going.sinkMoves || wanted.length === 0))
    going.ahead ??= fetchAhead(session.deps, requestFor(session, going, scan), signal)
  const delivering = wanted.length === 0 ? nothing : deliver(session, target, wanted, signal, goesOn(end))
  if (last.bytes <= parsedAheadBytes) going.ahead?.want()
  const { mark } = session.checkpoint()
  going.kept = await commitLoad(session, target, pages, { wanted, ...(await delivering) })
  noteLatest(session, pages.slice(0, pages.length - going.kept.length), mark)
  going.sinkMoves ||= wanted.length > 0
  if (going.kept.length === 0) failAtGuard(last.step)
}

/** Every event of these pages is seen now. */
function noteLatest(session: Session, pages: readonly LoadPage[], mark: readonly string[]): void {
  const last = pages.at(-1)
  if (last === undefined) return
  const known = pages.flatMap(({ hash, facts }) =>
    hash === undefined ? [] : [{ hash, facts: { ...facts, unseen: 0, unseenTimesMs: [] }, mark }],
  )
  session.deps.latestPages?.note(session.checkpoint(), last.requestedAt, known)
}

/** What the failure of a page means for its stream and its scan. Resolves with a value where the stream has ended. */
async function afterFailure(
  session: Session,
  scan: Scan,
  going: Going,
  failure: Failure,
): Promise<Ending | undefined> {
  const { checkpoint, job } = session
  learnTime(session, failure)
  if (failure.code === 'window_closed' && endsBy(session, failure)) {
    const isLost = await endAsExpired(session)
    return { failure: isLost && job.readRequest !== undefined ? failure : undefined }
  }
  if (failure.code === 'window_closed' && isRefusedFor(session, failure)) {
    const answer = { id: job.readRequest!.id, outcome: 'left_out', reason: noLongerKept } as const
    await session.commit(answerRequest(checkpoint(), answer))
    return { failure }
  }
  if (failure.code !== 'cursor_expired') throw failure
  await restartScan(session, scan, going, failure)
  return undefined
}

/** After these the scan is not continued at its cursor. */
function dropsScan(failure: Failure): boolean {
  return failure.code === 'window_closed' || isListingTrouble(failure)
}

/** True when the API refuses the day for a backfill. A day that has not begun by its clock will be readable later. */
function isRefusedFor({ job }: Session, { details: { serverDate } }: Failure): boolean {
  if (job.priority !== 'backfill' || job.readRequest === undefined) return false
  return serverDate === undefined || job.stream.day <= dayOf(serverDate)
}

/** A scan that ended at a guard is committed; the stream then backs off. */
function failAtGuard({ end, scan }: ScanStep): void {
  if (end === 'none' || end === 'complete') return
  throw new Failure('refuse', 'scan_guarded', `the listing does not end: ${end} after ${scan.pages} pages`)
}

/** An error answer carries the API's time as a page does. */
function learnTime({ deps, job }: Session, error: unknown): void {
  if (!isFailure(error) || error.details.serverDate === undefined) return
  const { serverDate, connection } = error.details
  deps.apiClock.learn(job.zone.account, serverDate - deps.clock.steady(), connection)
}

/**
 * Restarts a scan whose cursor expired, as a full one with a longer time slice. When that happens twice in one pump, it
 * throws the failure and the stream backs off. An expired stored cursor is not a failure.
 */
async function restartScan(session: Session, scan: Scan, going: Going, error: Failure): Promise<void> {
  const { deps, job, checkpoint, commit } = session
  const before = checkpoint()
  const stored = scan.pages === 0 && scan.fromStoredCursor
  if (!stored && going.hasRestarted) throw error
  const restarts = stored ? before.restarts : before.restarts + 1
  deps.telemetry.emit({ name: 'CursorExpired', stream: job.stream, stored, restarts })
  // Older ones have expired too, so the next scan is full.
  if (stored) return commit({ ...before, incremental: undefined, storedCursors: [] })
  going.hasRestarted = true
  await commit({ ...dropScans(before), restarts })
}
