import { isFailure } from '../domain/failure.ts'
import type { Clock } from '../ports/clock.ts'

const retryMs = 250

/**
 * Retries work that failed because another process holds the stream, or took it over in between. A pump releases a
 * stream when its time slice ends; a command that died holds it for 20 s.
 */
export async function patiently<Result>(
  work: () => Promise<Result>,
  { clock, patienceMs = 60_000 }: { readonly clock: Clock; readonly patienceMs?: number },
  signal: AbortSignal,
): Promise<Result> {
  const untilMs = clock.monotonic() + patienceMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const isHeld = isFailure(error, 'held') || isFailure(error, 'fence_lost')
      if (!isHeld || clock.monotonic() >= untilMs) throw error
      await clock.sleep(retryMs, signal)
    }
  }
}
