import type { PlannedStream } from '../domain/plan/plan.ts'

/**
 * How many of the places of a priority each sink has; the first ones have one more where they do not divide evenly. A
 * sink that hangs occupies only its own places; the other sinks keep theirs. With more sinks than places each has one.
 */
export function sharesOf(places: number, sinks: readonly string[]): ReadonlyMap<string, number> {
  const each = Math.floor(places / sinks.length)
  const left = places % sinks.length
  return new Map(sinks.map((sink, index) => [sink, Math.max(1, each + (index < left ? 1 : 0))]))
}

export function sinksOf(planned: readonly PlannedStream[]): string[] {
  return [...new Set(planned.map(({ stream }) => stream.sink))]
}
