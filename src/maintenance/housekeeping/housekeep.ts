import type { Checkpoint } from '../../domain/checkpoint.ts'
import { dayMs, dayOf, firstReadable, unreadableAt, type Day } from '../../domain/day.ts'
import { requestsOf } from '../../domain/plan/backfill.ts'
import type { Policy } from '../../domain/policy.ts'
import { isReadable } from '../../domain/plan/stream-state.ts'
import { streamKey, type Stream } from '../../domain/stream.ts'
import type { Store } from '../../ports/store.ts'
import type { ApiClock } from '../../pump/api-clock.ts'
import type { PlanSettings } from '../../plan/planner.ts'

const gapDays = 90

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
 * anything. False where it is too early: then the caller calls it again soon.
 */
export function createHousekeeping(deps: HousekeepDeps): (signal: AbortSignal) => Promise<boolean> {
  const { store, apiClock, settings, keepDays } = deps
  /** Dropping fingerprints writes even where none are left; ended streams are kept for weeks, so do it once. */
  const withoutIndex = new Set<string>()

  /** The streams that nothing will read any more. */
  async function overOf(checkpoints: readonly Checkpoint[]): Promise<Checkpoint[]> {
    // A backfill will read its days again, whatever their age: their fingerprints are needed until then.
    const requests = requestsOf(await store.backfills.list())
    const { policy } = settings()
    const nowOf = sureTimes(apiClock, settings())
    return checkpoints.filter(({ stream, archives }) => {
      const nowMs = nowOf(stream.zone)
      // What is half read from files needs its fingerprints.
      if (nowMs === undefined || archives !== undefined || requests.awaits(stream)) return false
      return isOver(stream.day, nowMs, policy)
    })
  }

  async function dropIndexes(over: readonly Checkpoint[], signal: AbortSignal): Promise<void> {
    for (const { stream, ended } of over) {
      if (signal.aborted) return
      const key = streamKey(stream)
      if (ended === undefined || withoutIndex.has(key)) continue
      if (await store.upkeep.dropIndex(stream)) withoutIndex.add(key)
    }
    const kept = new Set(over.map(({ stream }) => streamKey(stream)))
    for (const key of withoutIndex) if (!kept.has(key)) withoutIndex.delete(key)
  }

  /**
   * Checkpoints show which days were read: none is dropped before the planner has compared all routes with them. It
   * compares those of held sinks when they are held no more, so theirs are kept.
   */
  async function isCompared(nowMs: number): Promise<boolean> {
    const { zones, sinks, held } = settings()
    const ids = new Set(zones.map(({ id }) => id))
    return (await store.catalogue.routes()).every(
      ({ zone, sink, plannedAtMs }) =>
        !ids.has(zone) ||
        !sinks.includes(sink) ||
        held?.has(sink) === true ||
        plannedAtMs > nowMs - plannedWithinMs,
    )
  }

  /** No pump ends streams that left the configuration: they count as ended once their day is unreadable. */
  function endedBefore(over: readonly Checkpoint[], beforeMs: number): Stream[] {
    const { zones, sinks, policy, held } = settings()
    const ids = new Set(zones.map(({ id }) => id))
    const endOf = ({ stream, ended, removed }: Checkpoint) => {
      if (ended !== undefined) return Math.max(ended.atMs, removed?.atMs ?? 0)
      const isPlanned = ids.has(stream.zone) && sinks.includes(stream.sink)
      return isPlanned ? Infinity : unreadableAt(stream.day, policy.readableDays)
    }
    return over
      .filter((checkpoint) => held?.has(checkpoint.stream.sink) !== true && endOf(checkpoint) < beforeMs)
      .map(({ stream }) => stream)
  }

  return async (signal) => {
    const over = await overOf(await store.catalogue.checkpoints())
    await dropIndexes(over, signal)
    const nowMs = earliestNow(apiClock, settings())
    if (nowMs === undefined || !(await isCompared(nowMs))) return false
    if (signal.aborted) return true
    const beforeMs = nowMs - keepDays * dayMs
    await store.upkeep.prune(endedBefore(over, beforeMs), {
      uncommittedBefore: firstReadable(dayOf(beforeMs), settings().policy.readableDays),
      gapsBefore: nowMs - gapDays * dayMs,
    })
    return true
  }
}

type ZonesOf = Pick<PlanSettings, 'zones'>
type SureClock = Pick<ApiClock, 'sureNow'>

/** The earliest time of all accounts; undefined until that of all is sure. */
function earliestNow(apiClock: SureClock, { zones }: ZonesOf): number | undefined {
  const accounts = [...new Set(zones.map(({ account }) => account))]
  const earliestMs = Math.min(...accounts.map((account) => apiClock.sureNow(account) ?? NaN))
  return Number.isFinite(earliestMs) ? earliestMs : undefined
}

/** The time of each zone's account, undefined until it is sure. A zone that left the configuration has the earliest. */
export function sureTimes(apiClock: SureClock, settings: ZonesOf): (zone: number) => number | undefined {
  const times = new Map(settings.zones.map(({ id, account }) => [id, apiClock.sureNow(account)]))
  const earliestMs = earliestNow(apiClock, settings)
  return (zone) => (times.has(zone) ? times.get(zone) : earliestMs)
}

/** Unreadable for a day at least: a clock that is a little behind may still request the day until then. */
export function isOver(day: Day, nowMs: number, policy: Pick<Policy, 'readableDays'>): boolean {
  return !isReadable(day, nowMs - dayMs, policy)
}
