import type { PlannedStream } from '../../domain/plan/plan.ts'
import type { Pool } from './pool.ts'

/** Takes the first stream out of the queue that may start now; undefined when none may before one has ended. */
export function takeNext(
  queue: PlannedStream[],
  pool: Pool,
  shares: ReadonlyMap<string, number>,
): PlannedStream | undefined {
  if (pool.isFull()) return undefined
  const at = queue.findIndex(({ stream }) => pool.sizeOf(stream.sink) < (shares.get(stream.sink) ?? 1))
  return at === -1 ? undefined : queue.splice(at, 1)[0]
}
