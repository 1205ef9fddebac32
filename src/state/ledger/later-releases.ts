import { streamKey, type Stream } from '../../domain/stream.ts'
import type { Ledger } from '../../ports/store.ts'

type Releasing = Pick<Ledger, 'heartbeat' | 'release'>

/**
 * Keeps the fences whose release failed, and releases them with the next heartbeat. The heartbeats of a living process
 * would otherwise hold such a stream for as long as the process lives, unless it pumps the stream again.
 */
export function withLaterReleases<Streams extends Releasing>(streams: Streams): Streams {
  const unreleased = new Map<string, { readonly stream: Stream; readonly fence: number }>()

  async function release(stream: Stream, fence: number): Promise<void> {
    const key = streamKey(stream)
    unreleased.set(key, { stream, fence })
    await streams.release(stream, fence)
    // A later fence of the same stream may have failed meanwhile.
    if (unreleased.get(key)?.fence === fence) unreleased.delete(key)
  }

  return {
    ...streams,
    release,
    async heartbeat(holder) {
      await streams.heartbeat(holder)
      for (const { stream, fence } of unreleased.values()) await release(stream, fence)
    },
  }
}
