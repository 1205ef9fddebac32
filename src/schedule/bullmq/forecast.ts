import type { PlannedStream } from '../../domain/plan.ts'

/**
 * What a tick tells the workers of the time until the next one. Backfills of an account rest from when a live stream of
 * it is due, not from when the next tick queues it.
 */
export interface Forecast {
  /** By account and sink: ms from now until the next live stream is due. Those that are due already are queued. */
  readonly dues: readonly { readonly account: string; readonly sink: string; readonly inMs: number }[]
  /** How many sinks the planned backfills are for. */
  readonly backfillSinks: number
}

/** In Redis, so long after it was made: a scheduler that died holds nothing up. */
export const forecastForMs = 15_000

export function forecastOf(
  planned: readonly PlannedStream[],
  now: (planned: PlannedStream) => number,
): Forecast {
  const sinks = new Set<string>()
  const dues = new Map<string, Forecast['dues'][number]>()
  for (const each of planned) {
    const { lane, zone, stream } = each
    if (lane === 'backfill') {
      sinks.add(stream.sink)
      continue
    }
    const inMs = each.dueAtMs - now(each)
    const key = JSON.stringify([zone.account, stream.sink])
    if (inMs > 0 && inMs < Math.min(forecastForMs, dues.get(key)?.inMs ?? Infinity))
      dues.set(key, { account: zone.account, sink: stream.sink, inMs })
  }
  return { dues: [...dues.values()], backfillSinks: sinks.size }
}

/** Undefined for what is none. */
export function readForecast(text: string): Forecast | undefined {
  try {
    const { dues, backfillSinks } = JSON.parse(text) as Record<string, unknown>
    if (!Array.isArray(dues) || typeof backfillSinks !== 'number') return undefined
    return { dues: dues.filter(isDue), backfillSinks }
  } catch {
    return undefined
  }
}

function isDue(value: unknown): value is Forecast['dues'][number] {
  if (typeof value !== 'object' || value === null) return false
  const { account, sink, inMs } = value as Record<string, unknown>
  return typeof account === 'string' && typeof sink === 'string' && Number.isFinite(inMs)
}
