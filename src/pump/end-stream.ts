import type { Checkpoint } from '../domain/checkpoint.ts'
import { believesWindowError, expire, isBeyondAsking } from '../domain/plan/stream-state.ts'
import { answerRequest } from '../domain/read-request.ts'
import type { Session } from './session.ts'
import { Failure } from '../domain/failure.ts'

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

/** Whether an answer "outside the window" ends the stream: by its own clock, by that of other answers and by the host's. */
export function endsBy({ job, policy, sureNow }: Session, { details: { serverDate } }: Failure): boolean {
  const sureMs = sureNow()
  if (serverDate === undefined || sureMs === undefined) return false
  return believesWindowError(job.stream.day, Math.min(serverDate, sureMs), policy.readableDays)
}

/** Ends the stream and answers its read request. True when a gap is left, or the stream had ended before. */
export async function endAsExpired(session: Session): Promise<boolean> {
  const { job, deps, checkpoint } = session
  const { readRequest } = job
  const answer = (next: Checkpoint) =>
    readRequest === undefined
      ? next
      : answerRequest(next, { id: readRequest.id, outcome: 'left_out', reason: noLongerKept })
  const before = checkpoint()
  if (before.ended !== undefined) {
    if (readRequest !== undefined) await session.commit(answer(before))
    return true
  }
  const { checkpoint: ended, gap } = expire(before, session.now())
  // A day that was never planned, only requested, is not a gap.
  const isGap = gap !== undefined && (job.priority === 'live' || before.counters.pages > 0)
  await session.commit(answer(ended), { gaps: isGap ? [gap] : [] })
  deps.telemetry.emit({ name: 'StreamEnded', stream: job.stream, as: 'expired' })
  if (isGap) deps.telemetry.emit({ name: 'GapFound', gap })
  return gap !== undefined
}

export const shippedUnknown =
  'the day was shipped, but its deduplication index was dropped: reading it again would ship it twice'

/**
 * Refuses to scan a stream without its deduplication index: the scan would deliver everything again. Answers a read
 * request with that reason. Resolves with the failure; undefined for a read request at live priority. Throws the failure
 * for a poll, which the plan would otherwise repeat without a pause.
 */
export async function refuseScan({ job, checkpoint, commit }: Session): Promise<Failure | undefined> {
  const { readRequest, priority } = job
  const failure = new Failure('refuse', 'index_dropped', shippedUnknown)
  if (readRequest === undefined && checkpoint().ended === undefined) throw failure
  if (readRequest === undefined) return failure
  const answer = { id: readRequest.id, outcome: 'left_out', reason: shippedUnknown } as const
  await commit(answerRequest(checkpoint(), answer))
  // `run --once` requests all planned days, and this one was read to its end: not a failure.
  return priority === 'live' ? undefined : failure
}

/**
 * Whether the day was shipped, as far as anybody knows, and its checkpoint pruned. A clock that is days behind counts it
 * as readable: the sink would cut its lines, or get its events again.
 */
export async function wasPruned({ job, deps, checkpoint }: Session): Promise<boolean> {
  return checkpoint().commit === 0 && (await deps.store.catalogue.isPruned(job.stream))
}
