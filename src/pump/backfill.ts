import { dayOf } from '../domain/day.ts'
import { isAnswered } from '../domain/due.ts'
import { isFailure, type Failure } from '../domain/failure.ts'
import type { PlannedStream } from '../domain/plan.ts'
import type { Stream } from '../domain/stream.ts'
import type { CheckpointStore } from '../ports.ts'

export const noLongerKept = 'the API no longer keeps this day'

/** After a pump in the backfill lane: settles the stream in its backfill once the wish is served, or never can be. */
export async function settleBackfilled(
  store: CheckpointStore,
  { stream, wish, checkpoint: before }: Pick<PlannedStream, 'stream' | 'wish' | 'checkpoint'>,
  failure: Failure | undefined,
): Promise<void> {
  if (wish === undefined) return
  const checkpoint = await store.read(stream)
  // One that had expired before is being read all the same: the API was asked, and answered.
  const hasExpired = checkpoint?.ended?.as === 'expired' && before?.ended?.as !== 'expired'
  if (isAnswered(checkpoint, wish)) {
    await store.settleBackfilled(wish.id, { stream, state: 'done' })
  } else if (isRefused(stream, failure) || hasExpired) {
    await store.settleBackfilled(wish.id, { stream, state: 'left_out', reason: noLongerKept })
  }
}

/**
 * With each plan: settles what was served without being settled. A process may die between the two, and the live lane
 * may end a sweep that a backfill began.
 */
export async function settleServed(store: CheckpointStore, planned: readonly PlannedStream[]): Promise<void> {
  for (const { lane, stream, wish, checkpoint } of planned) {
    if (lane !== 'backfill' || wish === undefined) continue
    if (isAnswered(checkpoint, wish)) await store.settleBackfilled(wish.id, { stream, state: 'done' })
  }
}

/** A day that has not begun by the API's clock is refused as well: it will be read. */
function isRefused({ day }: Stream, failure: Failure | undefined): boolean {
  if (!isFailure(failure, 'window_closed')) return false
  const { serverDate } = failure.details
  return serverDate === undefined || day <= dayOf(serverDate)
}
