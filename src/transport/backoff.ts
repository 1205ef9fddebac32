export interface BackoffLimits {
  readonly baseMs: number
  readonly maxMs: number
}

/**
 * Delay before the next try, with full jitter: between 0 and `baseMs` doubled for each `attempt` (0 for the first
 * delay), at most `maxMs`. `random` returns [0, 1).
 */
export function backoffMs(attempt: number, { baseMs, maxMs }: BackoffLimits, random: () => number): number {
  const ceilingMs = Math.min(maxMs, baseMs * 2 ** Math.min(attempt, 52))
  return Math.floor(random() * ceilingMs)
}
