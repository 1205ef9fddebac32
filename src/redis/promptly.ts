import { Failure } from '../domain/failure.ts'
import { within } from '../domain/within.ts'
import type { Clock } from '../ports/clock.ts'

const patienceMs = 3_000

/** What Redis answers, or Failure `store_unavailable` soon: some clients keep a command for as long as it is away. */
export async function promptly<T>(asked: Promise<T>, clock: Clock): Promise<T> {
  const answer = await within(patienceMs, asked, clock)
  if (answer !== 'late') return answer.value
  throw new Failure('retry', 'store_unavailable', `Redis has not answered for ${patienceMs / 1000} s`)
}
