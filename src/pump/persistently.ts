import { isFailure } from '../domain/failure.ts'
import type { Clock } from '../ports.ts'

const mostFailures = 5
const longestWaitMs = 60_000

/**
 * Does again what failed for a reason that passes, a few times with longer and longer pauses; what another process holds
 * has been waited for already. Throws the last Failure.
 */
export async function persistently<Result>(
  work: () => Promise<Result>,
  { clock }: { readonly clock: Clock },
  signal: AbortSignal,
): Promise<Result> {
  for (let failures = 1; ; failures++) {
    try {
      return await work()
    } catch (error) {
      if (!isFailure(error) || (error.kind !== 'retry' && error.kind !== 'wait')) throw error
      const waitMs = Math.max((error.details.retryAt ?? 0) - clock.now(), 500 * 2 ** failures)
      if (error.code === 'held' || failures === mostFailures || waitMs > longestWaitMs) throw error
      await clock.sleep(waitMs, signal)
    }
  }
}
