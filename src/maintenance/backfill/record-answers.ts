import type { Backfilled } from '../../domain/plan/backfill.ts'
import type { PlannedStream } from '../../domain/plan/plan.ts'
import { isAnswered } from '../../domain/answer-request.ts'
import type { Store } from '../../ports/store.ts'

/** Writes into each backfill which of its requests have their answer. The answers themselves are in the checkpoints. */
export async function recordAnswers(
  store: Store,
  planned: readonly Pick<PlannedStream, 'stream' | 'readRequest' | 'priority' | 'checkpoint'>[],
): Promise<void> {
  for (const { priority, stream, readRequest, checkpoint } of planned) {
    if (priority !== 'backfill' || readRequest === undefined || !isAnswered(checkpoint, readRequest)) continue
    const { outcome, reason } = checkpoint!.lastRequest!
    const settled: Backfilled = { stream, state: outcome, ...(reason !== undefined && { reason }) }
    await store.backfills.settle(readRequest.id, settled)
  }
}

/** After a pump. */
export async function recordAnswer(store: Store, planned: PlannedStream): Promise<void> {
  if (planned.priority !== 'backfill') return
  const { checkpoint: _, ...asked } = planned
  await recordAnswers(store, [{ ...asked, checkpoint: await store.ledger.read(planned.stream) }])
}
