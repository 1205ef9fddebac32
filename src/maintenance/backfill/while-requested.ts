import type { PlannedStream } from '../../domain/plan/plan.ts'
import { streamKey } from '../../domain/stream.ts'
import type { Clock } from '../../ports/process.ts'
import type { Store } from '../../ports/store.ts'

/** A time slice lasts longer than a person waits for a pause. */
const askMs = 1_000

/**
 * Checks every second, while a backfill works on a stream, whether the backfill still wants it: `isRequested` turns
 * false once the backfill was paused or cancelled. A failed read of the store changes nothing.
 */
export async function whileRequested<Result>(
  { stream, priority, readRequest }: Pick<PlannedStream, 'stream' | 'priority' | 'readRequest'>,
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  work: (isRequested: () => boolean) => Promise<Result>,
): Promise<Result> {
  // No store holds the read request of `run --once`.
  if (priority === 'live' || readRequest === undefined) return work(() => true)
  const ended = new AbortController()
  const key = streamKey(stream)
  let isRequested = true

  async function ask(): Promise<boolean> {
    const backfill = (await store.backfills.list()).find(({ id }) => id === readRequest!.id)
    if (backfill?.state !== 'running') return false
    return backfill.streams.some((each) => each.state === 'queued' && streamKey(each.stream) === key)
  }

  async function watch(): Promise<void> {
    while (isRequested) {
      await clock.sleep(askMs, ended.signal)
      isRequested = await ask().catch(() => isRequested)
    }
  }

  const watching = watch().catch(() => undefined)
  try {
    return await work(() => isRequested)
  } finally {
    ended.abort()
    await watching
  }
}
