import { Failure } from '../../domain/failure.ts'
import type { Clock } from '../../ports/process.ts'

/** What a try answers when others changed meanwhile what it had read. */
export const again = Symbol('again')

const maxTries = 20
const maxPauseMs = 10
const never = new AbortController().signal

/**
 * Repeats a try that reads, decides and writes on condition that what it read is still so. Of several that contend one
 * always gets through. Throws `store_unavailable` when others are quicker too often.
 */
export async function untilDecided<T>(clock: Clock, attempt: () => Promise<T | typeof again>): Promise<T> {
  for (let tries = 1; tries <= maxTries; tries++) {
    const decided = await attempt()
    if (decided !== again) return decided
    if (tries > 2) await clock.sleep(Math.random() * maxPauseMs, never)
  }
  throw new Failure(
    'retry',
    'store_unavailable',
    'other processes keep changing what this one wants to change',
  )
}
