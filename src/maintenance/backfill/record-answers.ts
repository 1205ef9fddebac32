import type { Backfilled } from '../../domain/backfill.ts'
import type { PlannedStream } from '../../domain/plan.ts'
import { isAnswered } from '../../domain/answer-request.ts'
import type { Store } from '../../ports/store.ts'

/** Writes into each backfill which of its requests have their answer. The answers themselves are in the checkpoints. */
export async function recordAnswers(
  store: Store,
  planned: readonly Pick<PlannedStream, 'stream' | 'wish' | 'lane' | 'checkpoint'>[],
): Promise<void> {
  for (const { lane, stream, wish, checkpoint } of planned) {
    if (lane !== 'backfill' || wish === undefined || !isAnswered(checkpoint, wish)) continue
    const { outcome, reason } = checkpoint!.lastRequest!
    const settled: Backfilled = { stream, state: outcome, ...(reason !== undefined && { reason }) }
    await store.backfills.settle(wish.id, settled)
  }
}

/** After a pump. */
export async function recordAnswer(store: Store, planned: PlannedStream): Promise<void> {
  if (planned.lane !== 'backfill') return
  const { checkpoint: _, ...asked } = planned
  await recordAnswers(store, [{ ...asked, checkpoint: await store.ledger.read(planned.stream) }])
}
