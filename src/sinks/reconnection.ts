import { cancelled, Failure, isFailure } from '../domain/failure.ts'
import { backoffMs } from '../transport/retry.ts'
import type { SinkDeps } from './deps.ts'

/** A connection that all streams of a sink share. */
export interface Shared {
  /** Why it can no longer be used; undefined while it is open, as far as this side knows. */
  broken(): Failure | undefined
  close(): void
}

const limits = { baseMs: 1_000, maxMs: 60_000 }

/**
 * One connection, which is made again after it broke. After a failure there is no new try before a back-off has passed.
 */
export function createReconnection<Connection extends Shared>(
  connect: (signal: AbortSignal) => Promise<Connection>,
  { clock, random = Math.random }: Pick<SinkDeps, 'clock' | 'random'>,
) {
  let connection: Connection | undefined
  let isClosed = false
  let failures = 0
  /** The last failure, and when its back-off ends: by the monotonic clock, since the host's may be set back. */
  let refused: { readonly untilMs: number; readonly failure: Failure } | undefined

  function throwWhileRefused(): void {
    const leftMs = refused === undefined ? 0 : refused.untilMs - clock.monotonic()
    if (refused === undefined || leftMs <= 0) return
    const { failure } = refused
    if (failure.kind === 'stop') throw failure
    const retryAt = Math.ceil(clock.now() + leftMs)
    throw new Failure('wait', failure.code, failure.message, { retryAt })
  }

  return {
    /** The open connection, or a new one. Throws Failure, `cancelled` after `close`. */
    async open(signal: AbortSignal): Promise<Connection> {
      if (isClosed || signal.aborted) throw cancelled(signal.reason)
      if (connection !== undefined && connection.broken() === undefined) return connection
      connection?.close()
      connection = undefined
      throwWhileRefused()
      try {
        connection = await connect(signal)
      } catch (error) {
        if (isFailure(error) && error.kind !== 'cancelled')
          refused = { untilMs: clock.monotonic() + backoffMs(failures++, limits, random), failure: error }
        throw error
      }
      failures = 0
      if (!isClosed) return connection
      connection.close()
      throw cancelled()
    },
    /** For good: a connection that is being made is closed, too. */
    close(): void {
      isClosed = true
      connection?.close()
    },
  }
}
