import { isFailure } from '../failure.ts'

const mostFailures = 4
/** A destination that asks for a longer wait than this is tried by the next run. */
const longestWaitMs = 60_000

/**
 * How long a caller waits before its next try, after this many failures in a row; undefined when it must give up: the
 * failure is not transient, there were too many, or the wait would be too long.
 */
export function shortRetryMs(failure: unknown, failures: number, nowMs: number): number | undefined {
  if (!isFailure(failure) || failures >= mostFailures) return undefined
  const { kind, code, details } = failure
  const isPassing = kind === 'retry' || kind === 'wait' || code === 'cursor_expired'
  const waitMs = Math.max((details.retryAt ?? 0) - nowMs, 500 * 2 ** failures)
  return isPassing && waitMs <= longestWaitMs ? waitMs : undefined
}
