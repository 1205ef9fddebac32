import { isFailure } from '../failure.ts'
import type { Waits } from '../within.ts'

/** What says that another process has the stream, or took it over in between. */
type HeldCode = 'held' | 'fence_lost'

export interface RetryWhileHeld {
  readonly clock: Waits & { monotonic(): number }
  readonly patienceMs?: number
  readonly everyMs?: number
  readonly codes?: readonly HeldCode[]
}

/**
 * Retries work that failed because another process holds the stream, or took it over in between. A pump releases a
 * stream when its time slice ends; a command that died holds it for 20 s.
 */
export async function retryWhileHeld<Result>(
  work: () => Promise<Result>,
  { clock, patienceMs = 60_000, everyMs = 250, codes = ['held', 'fence_lost'] }: RetryWhileHeld,
  signal: AbortSignal,
): Promise<Result> {
  const untilMs = clock.monotonic() + patienceMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const isHeld = codes.some((code) => isFailure(error, code))
      if (!isHeld || clock.monotonic() >= untilMs) throw error
      await clock.sleep(everyMs, signal)
    }
  }
}
