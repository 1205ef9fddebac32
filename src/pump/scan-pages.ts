import { dropScans } from '../domain/checkpoint.ts'
import { dayOf } from '../domain/day.ts'
import { Failure } from '../domain/failure.ts'
import { isListingTrouble } from '../domain/retry.ts'
import { isShrunkenAgain } from '../domain/scan/progress.ts'
import { guardText, type Scan } from '../domain/scan/scan.ts'
import { deliver, type Delivered } from './commit-delivery.ts'
import { endAsExpired, endsBy, leftOut, noLongerKept } from './end-stream.ts'
import { fetchAhead } from './fetch-page.ts'
import { commitLoad } from './load-commit.ts'
import type { SinkTarget } from './open-sink.ts'
import { isDue, Load, readLoad, requestFor, takeKept, type LoadEnd, type Reading } from './read-load.ts'
import type { Session } from './session.ts'

/**
 * Ships the scan that is due load by load, until none is due, the time slice ends (after at least one page), more
 * urgent work waits, or the signal aborts. Resolves with a failure only when a read request for the day can never be
 * served.
 */
export async function scanPages(session: Session, target: SinkTarget, signal: AbortSignal) {
  const { clock, latestPages } = session.deps
  const latest = latestPages?.of(session.checkpoint())
  const reading: Reading = {
    beganMs: clock.monotonic(),
    beganAtMs: clock.steady(),
    latestMs: latest?.requestedAt,
    madeByMs: undefined,
    known: new Map(latest?.pages.map((page) => [page.hash, page])),
    ahead: undefined,
    archive: undefined,
    kept: [],
    sinkMoves: false,
    hasRestarted: false,
    isOver: false,
  }
  try {
    let failure: Failure | undefined
    do failure = await shipNextLoad(session, target, reading, signal)
    while (!signal.aborted && !reading.isOver && isDue(session, session.checkpoint()))
    return failure
  } finally {
    for (const { release } of reading.kept) release()
    await reading.ahead?.discard()
  }
}

async function shipNextLoad(session: Session, target: SinkTarget, reading: Reading, signal: AbortSignal) {
  const load = new Load(session, target.sink.load)
  try {
    const end = await readLoad(session, target, reading, load, signal)
    const refused = await shipLoad(session, target, reading, load, end, signal)
    // What is left over of a scan that does not go on is shipped at once: nothing reads it again.
    while (end.failure !== undefined && !goesOn(end) && reading.kept.length > 0) {
      const rest = new Load(session, target.sink.load)
      takeKept(target, reading, rest, reading.kept[0]!.scan)
      await shipLoad(session, target, reading, rest, end, signal)
    }
    return end.failure === undefined ? refused : await afterFailure(session, end.scan, reading, end.failure)
  } finally {
    const kept = new Set(reading.kept.map(({ release }) => release))
    for (const { release } of load.pages) if (!kept.has(release)) release()
  }
}

/** A scan that goes on reads again what the sink has left over. After some failures it is not continued at its cursor. */
function goesOn({ why, failure }: LoadEnd): boolean {
  if (failure !== undefined) return failure.code !== 'window_closed' && !isListingTrouble(failure)
  return why === 'full' || why === 'slice'
}

const nothing: Delivered = { delivery: { refusals: [], committed: [], bytes: 0 } }

/**
 * The next page is parsed during a delivery only after a page of at most this size: parsed entries take several times
 * the memory of the answer, and all streams may do so at once.
 */
const parsedAheadBytes = 1_048_576

/**
 * Delivers a load and commits it; the next page is fetched meanwhile where the scan goes on. Resolves with a failure where
 * that has answered the read request.
 */
async function shipLoad(
  session: Session,
  target: SinkTarget,
  reading: Reading,
  { pages }: Load,
  end: LoadEnd,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const last = pages.at(-1)
  if (last === undefined) return undefined
  const wanted = pages.flatMap((page) => page.wanted)
  if (end.why === 'full' && (reading.sinkMoves || wanted.length === 0))
    reading.ahead ??= fetchAhead(session, requestFor(session, reading, end.scan), signal)
  const delivering = wanted.length === 0 ? nothing : deliver(session, target, wanted, signal, goesOn(end))
  if (last.bytes <= parsedAheadBytes) reading.ahead?.want()
  reading.kept = await commitLoad(session, target, pages, wanted, await delivering)
  if (last.scan.kind === 'archive') reading.archive = reading.kept[0]?.scan ?? last.step.scan
  const done = pages.slice(0, pages.length - reading.kept.length)
  session.deps.latestPages?.note(session.checkpoint(), done)
  reading.sinkMoves ||= wanted.length > 0
  const { end: guard, scan } = last.step
  if (reading.kept.length > 0 || guard === 'none' || guard === 'complete') return undefined
  const { job, checkpoint } = session
  if (guard === 'listing_shrank' && !isShrunkenAgain(checkpoint())) return undefined
  const why = guardText(guard, scan)
  // What a cache holds is soon gone.
  const kind = guard === 'cached_page' ? 'retry' : 'refuse'
  const failure = new Failure(kind, 'scan_guarded', `${why} on ${job.stream.day}`)
  // The scan has ended at a guard, and that is committed: now the stream backs off.
  if (guard !== 'listing_shrank' || !isOnlyRequested(session)) throw failure
  reading.isOver = true
  return failure
}

/** Whether only a person wants the day: what becomes of that is no trouble of the live stream. */
function isOnlyRequested({ job, checkpoint }: Session): boolean {
  return job.readRequest !== undefined && (job.priority === 'backfill' || checkpoint().ended !== undefined)
}

async function afterFailure(session: Session, scan: Scan, reading: Reading, failure: Failure) {
  const { deps, job, checkpoint, commit } = session
  const { readRequest } = job
  deps.apiClock.learnFrom(job.zone.account, job.stream.day, failure)
  if (failure.code === 'window_closed' && endsBy(session, failure)) {
    reading.isOver = true
    const isLost = await endAsExpired(session)
    return isLost && readRequest !== undefined ? failure : undefined
  }
  if (failure.code === 'window_closed' && isRefusedFor(session, failure)) {
    reading.isOver = true
    await commit(leftOut(session, checkpoint(), noLongerKept))
    return failure
  }
  if (failure.code !== 'cursor_expired') throw failure
  await restartScan(session, scan, reading, failure)
  return undefined
}

/** True when the API refuses the day for a backfill. A day that has not begun by its clock will be readable later. */
function isRefusedFor({ job }: Session, { details: { serverDate } }: Failure): boolean {
  if (job.priority !== 'backfill' || job.readRequest === undefined) return false
  return serverDate === undefined || job.stream.day <= dayOf(serverDate)
}

/**
 * Restarts a scan whose cursor expired, as a full one with a longer time slice. When that happens twice in one pump, it
 * throws the failure and the stream backs off. An expired stored cursor is not a failure.
 */
async function restartScan(session: Session, scan: Scan, reading: Reading, error: Failure): Promise<void> {
  const { deps, job, checkpoint, commit } = session
  const before = checkpoint()
  const stored = scan.pages === 0 && scan.fromStoredCursor
  if (!stored && reading.hasRestarted) throw error
  const restarts = stored ? before.restarts : before.restarts + 1
  deps.telemetry.emit({ name: 'CursorExpired', stream: job.stream, stored, restarts })
  // Older ones have expired too, so the next scan is full.
  if (stored) return commit({ ...before, incremental: undefined, storedCursors: [] })
  reading.hasRestarted = true
  await commit({ ...dropScans(before), restarts })
}
