import type { Gap } from '../domain/gap.ts'
import { caughtUpOf, oldestUnread } from '../domain/plan/lag.ts'
import type { PlannedRoute, PlannedStream } from '../domain/plan/plan-route.ts'
import { standingOf } from '../domain/plan/route-state.ts'
import type { RouteState } from '../domain/plan/snapshot.ts'
import type { Policy } from '../domain/policy.ts'
import type { DayStatus, RouteStatus } from '../domain/status/status.ts'
import { iso } from '../domain/text/iso.ts'
import { countersOf } from './counters.ts'
import { errorStatus } from './error-status.ts'

export interface StatusTime {
  /** By the API's clock for the route's account. */
  readonly nowMs: number
  readonly policy: Policy
}

/** Called for each route of a fleet: literals with `undefined` take a tenth of the time of conditional spreads. */
export function routeStatus(
  { zone, sink, live }: PlannedRoute,
  route: RouteState,
  gaps: readonly Gap[],
  { nowMs, policy }: StatusTime,
): RouteStatus {
  const days = live.map((planned) => dayStatus(planned, nowMs, policy))
  const lastError = days.findLast((day) => day.lastError !== undefined)?.lastError
  const unread = oldestUnread(live, policy)
  const lagSeconds = Math.round(route.lagSeconds)
  const { newestMs, timeToLossSeconds } = route
  return {
    zone: zone.id,
    name: zone.name,
    account: zone.account,
    sink,
    state: standingOf({ lagSeconds, days, lastError }),
    lagSeconds,
    caughtUpAt: iso(route.caughtUpAtMs),
    newestEventAt: newestMs === undefined ? undefined : iso(newestMs),
    timeToLossSeconds: Number.isFinite(timeToLossSeconds) ? Math.round(timeToLossSeconds) : undefined,
    unread:
      unread === undefined
        ? undefined
        : { day: unread.stream.day, apiDeadlineAt: iso(unread.unreadableAtMs) },
    lastError,
    days,
    gaps: gaps.map(({ day, from, to, reason }) => ({ day, from: iso(from), to: iso(to), reason })),
  }
}

function dayStatus(planned: PlannedStream, nowMs: number, policy: Policy): DayStatus {
  const { checkpoint, state, stream } = planned
  const { pages, events, delivered, duplicates, late, deadLetters, dropped, filtered } =
    countersOf(checkpoint)
  const lagMs = Math.max(0, nowMs - caughtUpOf(planned, policy))
  return {
    day: stream.day,
    state,
    lagSeconds: state === 'open' ? Math.round(lagMs / 1000) : undefined,
    events,
    delivered,
    pages,
    duplicates,
    late,
    deadLetters,
    dropped,
    filtered,
    order: checkpoint?.ordering.order ?? 'unknown',
    lastFullScanAt: checkpoint?.lastFull === undefined ? undefined : iso(checkpoint.lastFull.endedAtMs),
    scanningPages: (checkpoint?.incremental ?? checkpoint?.full)?.pages,
    lastError: checkpoint?.trouble === undefined ? undefined : errorStatus(checkpoint.trouble),
  }
}
