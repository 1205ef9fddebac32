import type { PlannedStream } from '../domain/plan.ts'

/**
 * How many of the places of a lane the streams of one sink may take. A sink that hangs holds the place of each of its
 * streams for as long as it is waited for; a quarter of the places stays with the others, even where all of them but one
 * hang. With more sinks than places each has one, and then only some of them may hang.
 */
export function shareOfSink(places: number, sinks: number): number {
  if (sinks < 2) return places
  const kept = Math.max(1, Math.floor(places / 4))
  return Math.max(1, Math.floor((places - kept) / (sinks - 1)))
}

export function countSinks(planned: readonly PlannedStream[]): number {
  return new Set(planned.map(({ stream }) => stream.sink)).size
}
