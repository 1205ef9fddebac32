import { isFailure } from '../failure.ts'

const mostFailures = 4
/** A destination that asks for a longer wait than this is asked again by the next run. */
const longestWaitMs = 60_000

/**
 * How long whoever waits for a result, with so many failures in a row, waits until it tries again; undefined where it
 * gives up: a failure that does not pass by itself, too many of them, or too long a wait.
 */
export function shortRetryMs(failure: unknown, failures: number, nowMs: number): number | undefined {
  if (!isFailure(failure) || failures >= mostFailures) return undefined
  const { kind, code, details } = failure
  const isPassing = kind === 'retry' || kind === 'wait' || code === 'cursor_expired'
  const waitMs = Math.max((details.retryAt ?? 0) - nowMs, 500 * 2 ** failures)
  return isPassing && waitMs <= longestWaitMs ? waitMs : undefined
}
