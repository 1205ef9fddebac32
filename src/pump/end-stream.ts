import { dropScans, type Checkpoint } from '../domain/checkpoint.ts'
import { Failure } from '../domain/failure.ts'
import { troubleOf } from '../domain/plan/plan.ts'
import { expire, isBeyondAsking, isReadable } from '../domain/plan/stream-state.ts'
import { answerRequest } from '../domain/read-request.ts'
import { removedText } from '../domain/retention.ts'
import { isListingTrouble, troubleAfter } from '../domain/retry.ts'
import type { Dropped } from '../ports/store.ts'
import { packSightings, seenAs } from './seen-window.ts'
import { takeStream, type PumpDeps, type Session, type TakeJob } from './session.ts'

export const noLongerKept = 'the API no longer keeps this day'

/**
 * Whether the day is so old that it ends without a request: by the API's clock and by the host's. A request costs
 * little, while a clock that is days ahead would lose the day.
 */
export function endsUnasked({ job, policy, checkpoint, sureNow }: Session): boolean {
  // For a backfill the API is always asked: it may keep days longer than the setting says.
  if (job.priority === 'backfill' && job.readRequest !== undefined) return false
  const sureMs = sureNow()
  if (checkpoint().ended !== undefined || sureMs === undefined) return false
  return isBeyondAsking(job.stream.day, sureMs, policy)
}

/**
 * Whether an answer "outside the window" ends the stream: only where the day lies before the readable days by the clock
 * of that answer, of other answers and of the host. Otherwise a clock is wrong, and the day would be lost needlessly.
 */
export function endsBy({ job, policy, sureNow }: Session, { details: { serverDate } }: Failure): boolean {
  const sureMs = sureNow()
  if (serverDate === undefined || sureMs === undefined) return false
  return !isReadable(job.stream.day, Math.min(serverDate, sureMs), policy)
}

/** Ends the stream and answers its read request. True when a gap is left, or the stream had ended before. */
export async function endAsExpired(session: Session): Promise<boolean> {
  const { job, deps, checkpoint, commit } = session
  const before = checkpoint()
  if (before.ended !== undefined) {
    const over = { ...before, resend: undefined }
    if (job.readRequest !== undefined || before.resend !== undefined)
      await commit(leftOut(session, over, noLongerKept))
    return true
  }
  const { checkpoint: ended, gap } = expire(before, session.now())
  const isGap = gap !== undefined && (before.counters.pages > 0 || (await wasPlanned(session)))
  await commit(leftOut(session, ended, noLongerKept), { gaps: isGap ? [gap] : [] })
  deps.telemetry.emit({ name: 'StreamEnded', stream: job.stream, as: 'expired' })
  if (isGap) deps.telemetry.emit({ name: 'GapFound', gap })
  return gap !== undefined
}

/**
 * A day that was only requested is not a gap, nor one from before the route's first day: a clock that was behind has
 * planned it.
 */
async function wasPlanned({ job: { priority, stream }, deps }: Session): Promise<boolean> {
  if (priority !== 'live') return false
  const routes = await deps.store.catalogue.routes()
  const route = routes.find(({ zone, sink }) => zone === stream.zone && sink === stream.sink)
  return route !== undefined && stream.day >= route.firstDay
}

/** Answers the read request of the pump, if it has one, with why its day cannot be read. */
export function leftOut({ job: { readRequest } }: Session, next: Checkpoint, reason: string): Checkpoint {
  if (readRequest === undefined) return next
  return answerRequest(next, { id: readRequest.id, outcome: 'left_out', reason })
}

/** Why a day is not read again of which something was dropped. */
export function shippedText(dropped: Dropped, checkpoint: Checkpoint | undefined): string {
  if (checkpoint?.archiveSinceMs !== undefined)
    return 'the day was shipped in part from an archive, and its deduplication index was dropped: reading it again would ship that part twice'
  if (checkpoint?.removed !== undefined)
    return `the day was shipped, and its files were ${removedText(checkpoint.removed)}`
  const what = {
    index: 'but its deduplication index was dropped',
    day: 'and the state has dropped what (state.keepDays)',
  }
  return `the day was shipped, ${what[dropped]}: reading it again would ship it twice`
}

/**
 * Refuses to scan a stream without its deduplication index: the scan would deliver everything again. Answers a read
 * request with that reason. Resolves with the failure; undefined for a read request at live priority. Throws the failure
 * for a poll, which the plan would otherwise repeat without a pause.
 */
export async function refuseScan(session: Session, dropped: Dropped): Promise<Failure | undefined> {
  const { job, checkpoint, commit } = session
  const reason = shippedText(dropped, checkpoint())
  const failure = new Failure('refuse', 'index_dropped', reason)
  if (job.readRequest === undefined) {
    const { ended, resend } = checkpoint()
    if (ended === undefined) throw failure
    if (resend !== undefined) await commit({ ...checkpoint(), resend: undefined })
    return failure
  }
  if (dropped === 'day') await beginAnew(session)
  await commit(leftOut(session, checkpoint(), reason))
  // `run --once` requests all planned days, and this one was read to its end: not a failure.
  return job.priority === 'live' ? undefined : failure
}

/**
 * Commits a new checkpoint for a day whose checkpoint was pruned, unless it has one. It has ended, so that no pump scans
 * it, and has the dead letters, which were kept, in its ledger.
 */
export async function beginAnew({ job, deps, checkpoint, commit, now }: Session): Promise<void> {
  const fresh = checkpoint()
  if (fresh.commit > 0) return
  const keys = await deps.store.deadLetters.keys(job.stream)
  const counters = { ...fresh.counters, deadLetters: keys.length }
  const ended = { as: 'complete', atMs: now() } as const
  await commit({ ...fresh, counters, ended }, { seen: packSightings(keys.map(seenAs)) })
}

/**
 * Commits why a pump failed and when the next one may retry. A scan cannot get past a page that is too large, nor past a
 * cursor that keeps expiring: it restarts. The trouble of a read request is stored separately: it does not affect the
 * live stream, its lag or its readiness.
 */
export async function writeFailure(session: Session, failure: Failure): Promise<Failure> {
  const { job, deps, checkpoint, now, commit } = session
  const { stream, priority, readRequest } = job
  const before = checkpoint()
  const { retryAt } = failure.details
  // Failures name times by this host's clock, checkpoints by the API's.
  const notBeforeMs = retryAt === undefined ? undefined : retryAt - deps.clock.now() + now()
  const at = { nowMs: now(), notBeforeMs }
  const trouble = troubleAfter(troubleOf(job, before), failure, at, deps.random)
  const restarts = isListingTrouble(failure)
  if (priority === 'live' || readRequest === undefined)
    await commit({ ...(restarts ? dropScans(before) : before), trouble })
  else {
    const requestTrouble = { ...trouble, request: readRequest.id }
    await commit({ ...before, ...(restarts && { full: undefined }), requestTrouble })
  }
  const { retryAtMs, count: failures } = trouble
  deps.telemetry.emit({ name: 'StreamFailed', stream, priority, failure, retryAtMs, failures })
  return failure
}

/** Commits a failure for a pump whose process died, so that the stream backs off. Throws the Failures of a store. */
export async function failStream(job: TakeJob, deps: PumpDeps, failure: Failure): Promise<Failure> {
  await using session = await takeStream(job, deps)
  return await writeFailure(session, failure)
}
