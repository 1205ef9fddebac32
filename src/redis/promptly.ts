import { Failure } from '../domain/failure.ts'
import { within } from '../domain/promises.ts'
import type { Clock } from '../ports/process.ts'

const patienceMs = 3_000

/** The answer of Redis, or Failure `store_unavailable` after 3 s: some clients keep a command while Redis is away. */
export async function promptly<T>(asked: Promise<T>, clock: Clock): Promise<T> {
  const answer = await within(patienceMs, asked, clock)
  if (answer !== 'late') return answer.value
  throw new Failure('retry', 'store_unavailable', `Redis has not answered for ${patienceMs / 1000} s`)
}
