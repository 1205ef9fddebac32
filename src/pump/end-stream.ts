import type { Checkpoint } from '../domain/checkpoint.ts'
import { believesWindowError, expire } from '../domain/plan/expiry.ts'
import type { Failure } from '../domain/failure.ts'
import { answerRequest } from '../domain/answer-request.ts'
import { isBeyondAsking } from '../domain/plan/stream-state.ts'
import type { Session } from './session.ts'

export const noLongerKept = 'the API no longer keeps this day'

/**
 * Whether the day is so old that it ends without a request. Only once the API's time is confirmed, and only if the
 * host's clock agrees: a request costs little, while a clock that is days ahead would lose the day.
 */
export function endsUnasked({ deps, job, policy, checkpoint, now }: Session): boolean {
  // For a backfill the API is always asked: it may keep days longer than the setting says.
  if (job.priority === 'backfill' && job.readRequest !== undefined) return false
  if (checkpoint().ended !== undefined || !deps.apiClock.isConfirmed(job.zone.account)) return false
  return isBeyondAsking(job.stream.day, Math.min(now(), deps.clock.now()), policy)
}

/** Whether an answer "outside the window" ends the stream: by its own clock, and by that of other answers. */
export function endsBy({ job, policy, now }: Session, { details: { serverDate } }: Failure): boolean {
  if (serverDate === undefined) return false
  return believesWindowError(job.stream.day, Math.min(serverDate, now()), policy.readableDays)
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
