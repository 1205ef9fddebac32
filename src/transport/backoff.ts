export interface BackoffLimits {
  readonly baseMs: number
  readonly maxMs: number
}

/**
 * How long to wait before the next try, with full jitter: anywhere between 0 and `baseMs` doubled for each of
 * `attempt` (0 for the first wait), at most `maxMs`. `random` gives [0, 1).
 */
export function backoffMs(attempt: number, { baseMs, maxMs }: BackoffLimits, random: () => number): number {
  const ceilingMs = Math.min(maxMs, baseMs * 2 ** Math.min(attempt, 52))
  return Math.floor(random() * ceilingMs)
}
