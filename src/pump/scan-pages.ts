import { dayOf } from '../domain/day.ts'
import { dueAt, nextDue, type Due } from '../domain/plan/due.ts'
import { Failure, isFailure } from '../domain/failure.ts'
import { troubleOf } from '../domain/plan/plan.ts'
import { answerRequest } from '../domain/read-request.ts'
import { sliceOf } from '../domain/policy.ts'
import { scanFor } from '../domain/scan/progress.ts'
import { dropScans } from '../domain/checkpoint.ts'
import type { Scan, ScanStep } from '../domain/scan/scan.ts'
import { endAsExpired, endsBy, noLongerKept } from './end-stream.ts'
import type { SinkTarget } from './open-sink.ts'
import { shipPage, type Going } from './ship-page.ts'
import type { Session } from './session.ts'

interface Scanning extends Going {
  /** The cursor of an unfinished scan has expired under this pump. */
  hasRestarted: boolean
}

/**
 * Ships the scan that is due page by page, until none is due, the time slice ends (after at least one page), more
 * urgent work waits, or the signal aborts. Resolves with a failure only when a read request for the day can never be
 * served.
 */
export async function scanPages(
  session: Session,
  target: SinkTarget,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const beganMs = session.deps.clock.monotonic()
  const going: Scanning = { ahead: undefined, sinkMoves: false, hasRestarted: false }
  try {
    do {
      const ended = await shipNextPage(session, target, going, signal)
      if (ended !== undefined) return ended.failure
    } while (!signal.aborted && goesOn(session, beganMs))
    await session.flush()
    return undefined
  } catch (error) {
    // A backfill may read a single page before it gives way again: without this it would read that page each time.
    if (isFailure(error, 'gave_way')) await session.flush()
    throw error
  } finally {
    await going.ahead?.discard()
  }
}

function dueNow({ job, checkpoint, now, policy }: Session): Due {
  return nextDue(
    { stream: job.stream, checkpoint: checkpoint(), readRequest: job.readRequest },
    now(),
    policy,
  )
}

function goesOn(session: Session, beganMs: number): boolean {
  const { deps, job, checkpoint, now } = session
  const sliceMs = sliceOf(checkpoint().restarts)
  if (deps.clock.monotonic() - beganMs >= sliceMs || !job.mayGoOn()) return false
  return dueAt(dueNow(session), troubleOf(job, checkpoint()), now()) <= now()
}

/** Resolves with a value where the stream has ended. */
async function shipNextPage(
  session: Session,
  target: SinkTarget,
  going: Scanning,
  signal: AbortSignal,
): Promise<{ failure: Failure | undefined } | undefined> {
  const { checkpoint, job, now, policy } = session
  const due = { checkpoint: checkpoint(), kind: dueNow(session).kind, readRequest: job.readRequest }
  const scan = scanFor(due, now(), policy)
  try {
    failAtGuard(await shipPage(session, target, going, scan, signal))
  } catch (error) {
    learnTime(session, error)
    if (isFailure(error, 'window_closed') && endsBy(session, error)) {
      const isLost = await endAsExpired(session)
      return { failure: isLost && job.readRequest !== undefined ? error : undefined }
    }
    if (isFailure(error, 'window_closed') && isRefusedFor(session, error)) {
      const answer = { id: job.readRequest!.id, outcome: 'left_out', reason: noLongerKept } as const
      await session.commit(answerRequest(checkpoint(), answer))
      return { failure: error }
    }
    if (!isFailure(error, 'cursor_expired')) throw error
    await restartScan(session, scan, going, error)
  }
  return undefined
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
async function restartScan(session: Session, scan: Scan, going: Scanning, error: Failure): Promise<void> {
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
