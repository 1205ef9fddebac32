import type { SinkReconciler } from '../../maintenance/housekeeping/reconcile-sinks.ts'
import type { Clock } from '../../ports/clock.ts'

const allEveryMs = 600_000

export interface ReconcileTurns {
  /** Call it every few seconds. Throws the Failures of the store; then the next call reconciles all streams. */
  readonly turn: (signal: AbortSignal) => Promise<void>
  /** The store may hold an older state: the next turn reconciles all streams. */
  readonly allAgain: () => void
}

/** Reconciles all streams at first and every ten minutes, and those that could not be reconciled at each turn. */
export function createReconcileTurns(
  reconciler: Pick<SinkReconciler, 'reconcileAll' | 'reconcileFailed'>,
  clock: Pick<Clock, 'monotonic'>,
): ReconcileTurns {
  let allAtMs = -Infinity
  const allAgain = () => {
    allAtMs = -Infinity
  }
  return {
    allAgain,
    async turn(signal) {
      if (clock.monotonic() < allAtMs) return await reconciler.reconcileFailed(signal)
      // Before the work: a call of `allAgain` meanwhile must count.
      allAtMs = clock.monotonic() + allEveryMs
      try {
        await reconciler.reconcileAll(signal)
      } catch (error) {
        allAgain()
        throw error
      }
    },
  }
}
