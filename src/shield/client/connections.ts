import type { Dispatcher } from 'undici'
import { createDispatcher, type DispatcherOptions } from '../../transport/dispatcher.ts'

/** The connections of one account: a pool that is replaced when an answer's `Date` contradicts the one before. */
export interface Connections {
  current(): Dispatcher
  /** An answer has told the API's time, as an offset to this host's clock. */
  heard(offsetMs: number): void
  close(): Promise<void>
}

/** The same as where the API's clock takes an offset for a jump. */
const jumpMs = 30_000

/**
 * A `Date` that jumps counts only when a second answer confirms it. Over a connection that is kept alive the same server
 * would answer again, so the requests that follow go over new connections; those under way end over the old ones.
 */
export function createConnections(options: DispatcherOptions): Connections {
  let pool = createDispatcher(options)
  let latestMs = 0
  const replaced = new Set<Dispatcher>()
  return {
    current: () => pool,
    heard(offsetMs) {
      const isJump = Math.abs(offsetMs - latestMs) > jumpMs
      latestMs = offsetMs
      if (!isJump) return
      const old = pool
      pool = createDispatcher(options)
      replaced.add(old)
      void old.close().then(
        () => replaced.delete(old),
        () => replaced.delete(old),
      )
    },
    async close() {
      await Promise.all([pool, ...replaced].map((each) => each.destroy()))
    },
  }
}
