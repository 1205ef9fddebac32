import { cancelled } from '../../../src/domain/failure.ts'

/** A pump that ends by an abort only. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(cancelled(signal.reason)), { once: true })
    if (signal.aborted) reject(cancelled(signal.reason))
  })
}
