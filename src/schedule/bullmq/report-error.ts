import { isFailure } from '../../domain/failure.ts'
import type { Clock, Telemetry } from '../../ports/process.ts'
import { redisFailureIn } from '../../redis/redis-failure.ts'

/** Reports an error of the queue or its Redis. Never throws. */
export type ReportError = (error: unknown) => void

export interface ErrorReport {
  readonly reportError: ReportError
  /** Redis has answered just now. Reports the end of the trouble once no error came for a while. */
  readonly answered: () => void
}

const silenceMs = 5_000
/** A Redis that is full or a replica answers, and refuses writes: something writes at least every five seconds. */
const calmMs = 10_000

/** Connections repeat an error several times a second: of each kind, one error in 5 s is reported. */
export function createErrorReport({
  clock,
  telemetry,
  server,
}: {
  readonly clock: Clock
  readonly telemetry: Telemetry
  /** The name of the Redis, for people. */
  readonly server: string
}): ErrorReport {
  const reportedAtMs = new Map<string, number>()
  /** Of the latest error; undefined while all is well. */
  let failedAtMs: number | undefined
  return {
    reportError(thrown) {
      const nowMs = clock.monotonic()
      failedAtMs = nowMs
      const error = redisFailureIn(thrown, server)
      const kind = isFailure(error) ? error.code : error instanceof Error ? error.message : 'thrown'
      if (nowMs - (reportedAtMs.get(kind) ?? -Infinity) < silenceMs) return
      if (reportedAtMs.size > 100) reportedAtMs.clear()
      reportedAtMs.set(kind, nowMs)
      telemetry.emit({ name: 'QueueFailed', error })
    },
    answered() {
      if (failedAtMs === undefined || clock.monotonic() - failedAtMs < calmMs) return
      failedAtMs = undefined
      telemetry.emit({ name: 'QueueRecovered' })
    },
  }
}
