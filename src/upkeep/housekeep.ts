import type { Checkpoint } from '../domain/checkpoint.ts'
import { dayMs, dayOf, firstReadable, unreadableAt, type Day } from '../domain/day.ts'
import { requestsOf } from '../domain/plan/backfill.ts'
import type { Policy } from '../domain/policy.ts'
import { gapDays } from '../domain/retention.ts'
import { isReadable } from '../domain/plan/stream-state.ts'
import { routeKey, streamKey, type ZoneAndSink } from '../domain/stream.ts'
import type { Store } from '../ports/store.ts'
import type { ApiClock } from '../pump/api-clock.ts'
import type { PlanSettings } from '../plan/planner.ts'

interface HousekeepDeps {
  readonly store: Store
  readonly apiClock: ApiClock
  readonly settings: () => PlanSettings
  readonly keepDays: number
}

/** The planner stores each minute that a route is planned. */
const plannedWithinMs = 600_000

/**
 * Drops what is no longer needed: fingerprints of ended days that nothing will read any more (their counts stay), their
 * checkpoints `keepDays` later, and old gaps. Only by a time that is sure: a clock that is days ahead must not drop
 * anything. An account whose time is in doubt keeps what it has. False where it is too early: then the caller calls it
 * again soon.
 */
export function createHousekeeping(deps: HousekeepDeps): (signal: AbortSignal) => Promise<boolean> {
  const { store, apiClock, settings, keepDays } = deps
  /** Dropping fingerprints writes even where none are left; ended streams are kept for weeks, so do it once. */
  let withoutIndex = new Set<string>()

  async function dropIndexes(over: readonly Checkpoint[], signal: AbortSignal): Promise<void> {
    withoutIndex = withoutIndex.intersection(new Set(over.map(({ stream }) => streamKey(stream))))
    for (const { stream, ended } of over) {
      if (signal.aborted) return
      const key = streamKey(stream)
      if (ended === undefined || withoutIndex.has(key)) continue
      if (await store.upkeep.dropIndex(stream)) withoutIndex.add(key)
    }
  }

  return async (signal) => {
    const { zones, sinks, policy, held } = settings()
    const ids = new Set(zones.map(({ id }) => id))
    const isPlanned = ({ zone, sink }: ZoneAndSink) => ids.has(zone) && sinks.includes(sink)
    const isHeld = (sink: string) => held?.has(sink) === true
    const checkpoints = await store.catalogue.checkpoints()
    // A backfill will read its days again, whatever their age: their fingerprints are needed until then.
    const requests = requestsOf(await store.backfills.list())
    const times = sureTimes(apiClock, zones)
    /** What is half shipped from an archive needs its fingerprints for the next try. */
    const neededUntil = ({ archiveSinceMs = -Infinity }: Checkpoint) => archiveSinceMs + keepDays * dayMs
    /** The streams that nothing will read any more. */
    const over = checkpoints.filter((checkpoint) => {
      const { stream } = checkpoint
      const nowMs = times.of(stream.zone)
      if (nowMs === undefined || nowMs < neededUntil(checkpoint) || requests.awaits(stream)) return false
      return isOver(stream.day, nowMs, policy)
    })
    await dropIndexes(over, signal)

    const nowMs = times.earliest
    if (nowMs === undefined) return false
    // Checkpoints show which days were read: none is dropped before the planner has compared its route with them. It
    // compares those of held sinks when they are held no more, so theirs are kept.
    const routes = (await store.catalogue.routes()).filter((route) => isPlanned(route) && !isHeld(route.sink))
    const unplanned = new Set(
      routes
        .filter(({ zone, plannedAtMs }) => plannedAtMs <= (times.of(zone) ?? 0) - plannedWithinMs)
        .map(({ zone, sink }) => routeKey(zone, sink)),
    )
    if (signal.aborted) return true
    const keptFromMs = (zone: number) => (times.of(zone) ?? 0) - keepDays * dayMs
    /** No pump ends streams that left the configuration: they count as ended once their day is unreadable. */
    const endOf = (checkpoint: Checkpoint) => {
      const { stream, ended, removed } = checkpoint
      if (ended !== undefined) return Math.max(ended.atMs, removed?.atMs ?? 0, neededUntil(checkpoint))
      return isPlanned(stream) ? Infinity : unreadableAt(stream.day, policy.readableDays)
    }
    const old = over.filter((each) => {
      const { zone, sink } = each.stream
      return !isHeld(sink) && !unplanned.has(routeKey(zone, sink)) && endOf(each) < keptFromMs(zone)
    })
    await store.upkeep.prune(
      old.map(({ stream }) => stream),
      {
        uncommittedBefore: firstReadable(dayOf(nowMs - keepDays * dayMs), policy.readableDays),
        gapsBefore: nowMs - gapDays * dayMs,
      },
    )
    return unplanned.size === 0
  }
}

/**
 * The time of each zone's account, undefined until it is sure, and the earliest of those that are. A zone that left the
 * configuration has the earliest.
 */
export function sureTimes(apiClock: Pick<ApiClock, 'sureNow'>, zones: PlanSettings['zones']) {
  const times = new Map(zones.map(({ id, account }) => [id, apiClock.sureNow(account)]))
  const leastMs = Math.min(...[...times.values()].map((ms) => ms ?? Infinity))
  const earliest = Number.isFinite(leastMs) ? leastMs : undefined
  return { earliest, of: (zone: number) => (times.has(zone) ? times.get(zone) : earliest) }
}

/** Unreadable for a day at least: a clock that is a little behind may still request the day until then. */
export function isOver(day: Day, nowMs: number, policy: Pick<Policy, 'readableDays'>): boolean {
  return !isReadable(day, nowMs - dayMs, policy)
}
