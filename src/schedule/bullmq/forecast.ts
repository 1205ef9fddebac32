import type { PlannedStream } from '../../domain/plan.ts'

/**
 * What a tick tells the workers of the time until the next one. Backfills of an account rest from when a live stream of
 * it is due, not from when the next tick queues it.
 */
export interface Forecast {
  /** By account: ms from now until the next live stream is due. Those that are due already are queued. */
  readonly dueInMs: Readonly<Record<string, number>>
  /** How many sinks the planned backfills are for. */
  readonly backfillSinks: number
}

/** In Redis, so long after it was made: a scheduler that died holds nothing up. */
export const forecastForMs = 15_000

export function forecastOf(
  planned: readonly PlannedStream[],
  now: (planned: PlannedStream) => number,
): Forecast {
  const dueInMs: Record<string, number> = {}
  const sinks = new Set<string>()
  for (const each of planned) {
    if (each.lane === 'backfill') {
      sinks.add(each.stream.sink)
      continue
    }
    const { account } = each.zone
    const inMs = each.dueAtMs - now(each)
    if (inMs > 0 && inMs < Math.min(forecastForMs, dueInMs[account] ?? Infinity)) dueInMs[account] = inMs
  }
  return { dueInMs, backfillSinks: sinks.size }
}

/** Undefined for what is none. */
export function readForecast(text: string): Forecast | undefined {
  try {
    const { dueInMs, backfillSinks } = JSON.parse(text) as Record<string, unknown>
    if (typeof dueInMs !== 'object' || dueInMs === null || typeof backfillSinks !== 'number') return undefined
    const known = Object.entries(dueInMs).filter((entry): entry is [string, number] =>
      Number.isFinite(entry[1]),
    )
    return { dueInMs: Object.fromEntries(known), backfillSinks }
  } catch {
    return undefined
  }
}
