import { dropScans } from '../domain/checkpoint.ts'
import { dayOf } from '../domain/day.ts'
import { Failure, isFailure } from '../domain/failure.ts'
import { isShrunkenAgain } from '../domain/scan/progress.ts'
import { guardText, type Scan } from '../domain/scan/scan.ts'
import { deliver, type Delivered } from './commit-delivery.ts'
import { endAsExpired, endsBy, leftOut, noLongerKept } from './end-stream.ts'
import { commitLoad } from './load-commit.ts'
import type { SinkTarget } from './open-sink.ts'
import { Reading, type Load } from './reading.ts'
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
  await using reading = new Reading(session, target, signal)
  let failure: Failure | undefined
  do failure = await shipNextLoad(reading)
  while (reading.isDue)
  return failure
}

async function shipNextLoad(reading: Reading): Promise<Failure | undefined> {
  const load = await reading.nextLoad()
  const refused = await shipLoad(reading, load)
  if (!isFailure(load.end)) return refused
  // What is left over of a scan that does not go on is shipped at once: nothing reads it again.
  while (!load.goesOn && reading.hasLeft) await shipLoad(reading, reading.rest(load))
  return await afterFailure(reading, load.scan, load.end)
}

const nothing: Delivered = { events: [], delivery: { refusals: [], committed: [], bytes: 0 } }

/**
 * Delivers a load and commits it; the next page is fetched meanwhile where the scan goes on. Resolves with a failure where
 * that has answered the read request.
 */
async function shipLoad(reading: Reading, load: Load): Promise<Failure | undefined> {
  const { session, target, signal } = reading
  const { pages, goesOn } = load
  if (pages.length === 0) return undefined
  const wanted = pages.flatMap((page) => page.wanted)
  const isAny = wanted.length > 0
  // A stream that ends has no further pump.
  if (isAny || pages.at(-1)!.after.ended !== undefined) await target.open()
  reading.fetchAhead(load, isAny)
  const delivered = isAny ? await deliver(session, target, wanted, signal, goesOn) : nothing
  if (delivered.adoption !== undefined) load.adopt(delivered.adoption)
  const left = await commitLoad(session, target, pages, delivered)
  reading.committed(load, left, isAny)
  const { end: guard, scan } = pages.at(-1)!.step
  if (left.length > 0 || guard === 'none' || guard === 'complete') return undefined
  const { job, checkpoint } = session
  // One that began before the read request does not answer it: the request now gets a scan of its own.
  if (job.readRequest !== undefined && scan.readRequest !== job.readRequest.id) return undefined
  if (guard === 'listing_shrank' && !isShrunkenAgain(checkpoint())) return undefined
  const why = guardText(guard, scan)
  // What a cache holds is soon gone.
  const kind = guard === 'cached_page' ? 'retry' : 'refuse'
  const failure = new Failure(kind, 'scan_guarded', `${why} on ${job.stream.day}`)
  // The scan has ended at a guard, and that is committed: now the stream backs off.
  if (guard !== 'listing_shrank' || !isOnlyRequested(session)) throw failure
  reading.end()
  return failure
}

/** Whether only a person wants the day: what becomes of that is no trouble of the live stream. */
function isOnlyRequested({ job, checkpoint }: Session): boolean {
  return job.readRequest !== undefined && (job.priority === 'backfill' || checkpoint().ended !== undefined)
}

async function afterFailure(reading: Reading, scan: Scan, failure: Failure): Promise<Failure | undefined> {
  const { session, target } = reading
  const { deps, job, checkpoint, commit } = session
  const { readRequest } = job
  deps.apiClock.learnFrom(job.zone.account, job.stream.day, failure)
  if (failure.code === 'window_closed' && endsBy(session, failure)) {
    reading.end()
    await target.open()
    const isLost = await endAsExpired(session)
    return isLost && readRequest !== undefined ? failure : undefined
  }
  if (failure.code === 'window_closed' && isRefusedFor(session, failure)) {
    reading.end()
    await commit(leftOut(session, checkpoint(), noLongerKept))
    return failure
  }
  if (failure.code !== 'cursor_expired') throw failure
  await restartScan(reading, scan, failure)
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
async function restartScan(reading: Reading, scan: Scan, error: Failure): Promise<void> {
  const { deps, job, checkpoint, commit } = reading.session
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
