import type { Gap } from '../domain/gap.ts'
import { caughtUpOf } from '../domain/plan/lag.ts'
import type { PlannedStream } from '../domain/plan/plan.ts'
import type { ProblemRoute } from '../domain/status/problems.ts'
import type { DayStatus, ErrorStatus, GapStatus, RouteStatus, RouteSummary } from '../domain/status/status.ts'
import { iso } from '../domain/text/time.ts'
import { countersOf, type ObservedRoute, type RouteTime, type RouteTrouble } from './observe.ts'

/** Called for each route of a fleet: literals with `undefined` take a tenth of the time of conditional spreads. */
export function routeStatus(route: ObservedRoute): RouteStatus {
  return {
    ...routeSummary(route),
    days: route.planned.live.map((planned) => dayStatus(planned, route.time)),
    gaps: route.gaps.map(gapStatus),
  }
}

export function gapStatus({ day, from, to, reason, recordedAt, acknowledgedAt }: Gap): GapStatus {
  return {
    day,
    from: iso(from),
    to: iso(to),
    reason,
    recordedAt: iso(recordedAt),
    acknowledgedAt: acknowledgedAt === undefined ? undefined : iso(acknowledgedAt),
  }
}

/** What the problems of a status are worked out from: less than its status, since a fleet has thousands. */
export function problemRoute({ planned, gaps, standing, unfinished, trouble }: ObservedRoute): ProblemRoute {
  const { id, name } = planned.zone
  return {
    zone: id,
    name,
    sink: planned.sink,
    state: standing,
    unfinished: unfinished === undefined ? undefined : unfinishedDay(unfinished),
    lastError: trouble === undefined ? undefined : errorStatus(trouble),
    gaps: gaps.map(gapStatus),
    days: planned.live.map(({ stream, checkpoint }) => {
      const { delivered, filtered, lost } = countersOf(checkpoint)
      return { day: stream.day, delivered, filtered, lost }
    }),
  }
}

/** What is said of a route without its days. */
export function routeSummary({
  planned,
  figures,
  standing,
  unfinished,
  trouble,
}: ObservedRoute): RouteSummary {
  const { newestMs, timeToLossSeconds } = figures
  const { id, name, account } = planned.zone
  return {
    zone: id,
    name,
    account,
    sink: planned.sink,
    state: standing,
    lagSeconds: Math.round(figures.lagSeconds),
    caughtUpAt: iso(figures.caughtUpAtMs),
    newestEventAt: newestMs === undefined ? undefined : iso(newestMs),
    timeToLossSeconds: Number.isFinite(timeToLossSeconds) ? Math.round(timeToLossSeconds) : undefined,
    unfinished: unfinished === undefined ? undefined : unfinishedDay(unfinished),
    lastError: trouble === undefined ? undefined : errorStatus(trouble),
  }
}

function unfinishedDay({ stream, unreadableAtMs }: PlannedStream): NonNullable<RouteStatus['unfinished']> {
  return { day: stream.day, apiDeadlineAt: iso(unreadableAtMs) }
}

function dayStatus(planned: PlannedStream, { nowMs, policy }: RouteTime): DayStatus {
  const { checkpoint, state, stream } = planned
  const { pages, events, delivered, duplicates, late, deadLetters, dropped, filtered, skipped, lost } =
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
    skipped,
    lost,
    order: checkpoint?.ordering.order ?? 'unknown',
    lastFullScanAt: checkpoint?.lastFull === undefined ? undefined : iso(checkpoint.lastFull.endedAtMs),
    scanningPages: (checkpoint?.incremental ?? checkpoint?.full)?.pages,
    lastError: checkpoint?.trouble === undefined ? undefined : errorStatus(checkpoint.trouble),
  }
}

/** Why a stream makes no progress, as `status` shows it. */
export function errorStatus({ code, message, count, sinceMs, retryAtMs }: RouteTrouble): ErrorStatus {
  return { code, message, failures: count, since: iso(sinceMs), retryAt: iso(retryAtMs) }
}
