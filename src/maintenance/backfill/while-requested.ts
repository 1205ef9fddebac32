import type { PlannedStream } from '../../domain/plan/plan.ts'
import { keepLatest } from '../../domain/promises.ts'
import { streamKey } from '../../domain/stream.ts'
import type { Clock } from '../../ports/process.ts'
import type { Store } from '../../ports/store.ts'

/** A time slice lasts longer than a person waits for a pause. */
const askMs = 1_000

/**
 * Tells, when it is asked after each page, whether a backfill still wants the stream that is read for it: not once it was
 * paused or cancelled. It asks the store at most once a second, and answers by what it heard last; a failed read of the
 * store changes nothing.
 */
export function whileRequested(
  { stream, priority, readRequest }: Pick<PlannedStream, 'stream' | 'priority' | 'readRequest'>,
  { store, clock }: { readonly store: Store; readonly clock: Clock },
): () => boolean {
  // No store holds the read request of `run --once`.
  if (priority === 'live' || readRequest === undefined) return () => true
  const key = streamKey(stream)
  let isRequested = true
  const ask = async () => {
    const backfill = (await store.backfills.list()).find(({ id }) => id === readRequest.id)
    const queued = backfill?.state === 'running' ? backfill.streams : []
    isRequested = queued.some((each) => each.state === 'queued' && streamKey(each.stream) === key)
  }
  const latest = keepLatest(ask, askMs, clock)
  return () => {
    latest.read().catch(() => undefined)
    return isRequested
  }
}
