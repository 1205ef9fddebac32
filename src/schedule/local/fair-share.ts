import type { PlannedStream } from '../../domain/plan.ts'
import type { Pool } from './pool.ts'

/**
 * How many of the places the streams of one sink may take. A sink that hangs holds the place of each of its streams for
 * as long as it is waited for; a quarter of the places stays with the others, even where all of them but one hang. With
 * more sinks than places each has one, and then only some of them may hang.
 */
export function shareOfSink(places: number, planned: readonly PlannedStream[]): number {
  const sinks = new Set(planned.map(({ stream }) => stream.sink)).size
  if (sinks < 2) return places
  const kept = Math.max(1, Math.floor(places / 4))
  return Math.max(1, Math.floor((places - kept) / (sinks - 1)))
}

/** Takes the first stream out of the queue that may start now; undefined when none may before one has ended. */
export function takeNext(queue: PlannedStream[], pool: Pool, share: number): PlannedStream | undefined {
  if (pool.isFull()) return undefined
  const at = queue.findIndex(({ stream }) => pool.sizeOf(stream.sink) < share)
  return at === -1 ? undefined : queue.splice(at, 1)[0]
}
