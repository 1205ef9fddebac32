import type { PlannedStream } from '../../domain/plan/plan.ts'
import type { Pool } from './pool.ts'

/** Removes the first stream from the queue that may start now; undefined when all places that it may use are taken. */
export function takeNext(
  queue: PlannedStream[],
  pool: Pool,
  shares: ReadonlyMap<string, number>,
): PlannedStream | undefined {
  if (pool.isFull()) return undefined
  const at = queue.findIndex(({ stream }) => pool.sizeOf(stream.sink) < (shares.get(stream.sink) ?? 1))
  return at === -1 ? undefined : queue.splice(at, 1)[0]
}
