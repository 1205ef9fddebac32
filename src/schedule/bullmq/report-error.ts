import { isFailure } from '../../domain/failure.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Telemetry } from '../../ports/telemetry.ts'
import { redisFailureIn } from '../../redis/redis-failure.ts'

/** Reports an error of the queue or its Redis. Never throws. */
export type ReportError = (error: unknown) => void

const silenceMs = 5_000

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
}): ReportError {
  const reportedAtMs = new Map<string, number>()
  return (thrown) => {
    const error = redisFailureIn(thrown, server)
    const kind = isFailure(error) ? error.code : error instanceof Error ? error.message : 'thrown'
    if (clock.monotonic() - (reportedAtMs.get(kind) ?? -Infinity) < silenceMs) return
    if (reportedAtMs.size > 100) reportedAtMs.clear()
    reportedAtMs.set(kind, clock.monotonic())
    telemetry.emit({ name: 'QueueFailed', error })
  }
}
