import type { PlannedStream } from '../../domain/plan.ts'
import { streamKey } from '../../domain/stream.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'

/** A slice lasts longer than a person waits for a pause. */
const askMs = 1_000

/**
 * Asks the store now and then, while a backfill works on a stream, whether it is still wanted: `isWished` turns false
 * once the backfill was paused or cancelled. A store that does not answer changes nothing.
 */
export async function whileWished<Result>(
  { stream, lane, wish }: Pick<PlannedStream, 'stream' | 'lane' | 'wish'>,
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  work: (isWished: () => boolean) => Promise<Result>,
): Promise<Result> {
  // The wish of `run --once` is in no store.
  if (lane === 'live' || wish === undefined) return work(() => true)
  const ended = new AbortController()
  let isWished = true

  async function ask(): Promise<boolean> {
    const backfill = (await store.backfills.list()).find(({ id }) => id === wish!.id)
    if (backfill?.state !== 'running') return false
    const key = streamKey(stream)
    return backfill.streams.some((each) => each.state === 'queued' && streamKey(each.stream) === key)
  }

  async function watch(): Promise<void> {
    while (isWished) {
      await clock.sleep(askMs, ended.signal)
      isWished = await ask().catch(() => isWished)
    }
  }

  const watching = watch().catch(() => undefined)
  try {
    return await work(() => isWished)
  } finally {
    ended.abort()
    await watching
  }
}
