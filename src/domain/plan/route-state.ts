/**
 * - `failing`: the last try of a day ended with an error, or the current day ended before its time.
 * - `not_read`: no page was read yet.
 * - `behind`: no error, and a lag that a healthy route does not have.
 */
export type RouteStanding = 'up_to_date' | 'behind' | 'failing' | 'not_read'

/** The error of a route whose current day has ended: nothing of the rest of the day is shipped. */
export const earlyEndCode = 'day_ended'

/** A route with a longer lag is behind; events are polled twice a minute by default. */
const longLagSeconds = 900

/** A limit of lag, for a route of this pace: between two polls the lag grows to the pace, and one poll may take long. */
export function lagLimitOf(limitSeconds: number, paceMs: number): number {
  return Math.max(limitSeconds, (2 * paceMs) / 1000)
}

export function standingOf(route: {
  readonly lastError?: unknown
  readonly lagSeconds: number
  readonly paceMs: number
  readonly days: readonly { readonly pages: number }[]
}): RouteStanding {
  if (route.lastError !== undefined) return 'failing'
  if (route.days.every(({ pages }) => pages === 0)) return 'not_read'
  return route.lagSeconds >= lagLimitOf(longLagSeconds, route.paceMs) ? 'behind' : 'up_to_date'
}
