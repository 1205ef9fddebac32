import { Failure } from '../domain/failure.ts'
import type { Clock } from '../ports.ts'

const patienceMs = 3_000

/** What a promise gives, or `late` when it has not settled after `ms`; it may still do so. Rejects as the promise does. */
export async function within<T>(
  ms: number,
  promise: Promise<T>,
  clock: Clock,
): Promise<{ readonly value: T } | 'late'> {
  const settled = new AbortController()
  const patience = clock.sleep(ms, settled.signal).then(
    () => 'late' as const,
    () => 'late' as const,
  )
  try {
    return await Promise.race([promise.then((value) => ({ value })), patience])
  } finally {
    settled.abort()
    // Nobody may be left to hear of it.
    promise.catch(() => undefined)
    await patience
  }
}

/** What Redis answers, or Failure `store_unavailable` soon: some clients keep a command for as long as it is away. */
export async function promptly<T>(asked: Promise<T>, clock: Clock): Promise<T> {
  const answer = await within(patienceMs, asked, clock)
  if (answer !== 'late') return answer.value
  throw new Failure('retry', 'store_unavailable', `Redis has not answered for ${patienceMs / 1000} s`)
}
