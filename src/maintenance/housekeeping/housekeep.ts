import type { Checkpoint } from '../../domain/checkpoint.ts'
import { dayMs, unreadableAt } from '../../domain/day.ts'
import { isReadable } from '../../domain/plan/stream-state.ts'
import { streamKey } from '../../domain/stream.ts'
import type { Store } from '../../ports/store.ts'
import type { ApiClock } from '../../pump/api-clock.ts'
import type { PlanSettings } from '../../plan/planner.ts'

const gapDays = 90

export interface HousekeepDeps {
  readonly store: Store
  readonly apiClock: ApiClock
  readonly settings: () => PlanSettings
  readonly keepDays: number
}

/** The planner stores each minute that a route is planned. */
const plannedWithinMs = 600_000

/**
 * Drops what is no longer needed: fingerprints of ended days that cannot be read any more (their counts stay), old
 * checkpoints and old gaps. Only once the API's time is confirmed: a host clock that is days ahead must not drop
 * anything. Temporary streams of ended resends are dropped at any time. False where it is too early for the
 * rest: then the caller calls it again soon.
 */
export function createHousekeeping(deps: HousekeepDeps): (signal: AbortSignal) => Promise<boolean> {
  const { store, apiClock, settings, keepDays } = deps
  /** Dropping fingerprints writes even where none are left; ended streams are kept for weeks, so do it once. */
  const forgotten = new Set<string>()

  /** The earliest API time of all accounts; undefined until all are confirmed. */
  function earliestNow(): number | undefined {
    const accounts = [...new Set(settings().zones.map(({ account }) => account))]
    if (accounts.length === 0 || !accounts.every(apiClock.isConfirmed)) return undefined
    return Math.min(...accounts.map(apiClock.now))
  }

  async function forgetUnreadable(
    checkpoints: readonly Checkpoint[],
    awaited: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<void> {
    const { zones, policy } = settings()
    const accounts = new Map(zones.map(({ id, account }) => [id, account]))
    /** A zone that left the configuration has no API time: the earliest one is used. */
    const nowOf = (zone: number) => {
      const account = accounts.get(zone)
      if (account === undefined) return earliestNow()
      return apiClock.isConfirmed(account) ? apiClock.now(account) : undefined
    }
    for (const { stream, ended, archives } of checkpoints) {
      if (signal.aborted) return
      if (ended === undefined) continue
      const nowMs = nowOf(stream.zone)
      if (nowMs === undefined) continue
      const key = streamKey(stream)
      // One day longer than the API keeps it: a clock that is a little behind may still request the day.
      const isAwaited = archives !== undefined || awaited.has(key)
      if (isAwaited || isReadable(stream.day, nowMs - dayMs, policy)) forgotten.delete(key)
      else if (!forgotten.has(key) && (await store.upkeep.forgetFingerprints(stream))) forgotten.add(key)
    }
    const kept = new Set(checkpoints.map(({ stream }) => streamKey(stream)))
    for (const key of forgotten) if (!kept.has(key)) forgotten.delete(key)
  }

  /** Checkpoints show which days were read: none is dropped before the planner has compared all routes with them. */
  async function isCompared(nowMs: number): Promise<boolean> {
    const { zones, sinks } = settings()
    const ids = new Set(zones.map(({ id }) => id))
    return (await store.catalogue.routes()).every(
      ({ zone, sink, plannedAtMs }) =>
        !ids.has(zone) || !sinks.includes(sink) || plannedAtMs > nowMs - plannedWithinMs,
    )
  }

  /** No pump ends streams that left the configuration: they count as ended once their day is unreadable. */
  function abandonedOf(
    checkpoints: readonly Checkpoint[],
    awaited: ReadonlySet<string>,
    endedBefore: number,
  ) {
    const { zones, sinks, policy } = settings()
    const ids = new Set(zones.map(({ id }) => id))
    return checkpoints.flatMap(({ stream, ended, archives }) => {
      const isPlanned = ids.has(stream.zone) && sinks.includes(stream.sink)
      if (ended !== undefined || isPlanned || archives !== undefined || awaited.has(streamKey(stream)))
        return []
      return unreadableAt(stream.day, policy.readableDays) < endedBefore ? [stream] : []
    })
  }

  return async (signal) => {
    await store.upkeep.dropEndedResends()
    const checkpoints = await store.catalogue.checkpoints()
    const awaited = await awaitedStreams(store)
    await forgetUnreadable(checkpoints, awaited, signal)
    const nowMs = earliestNow()
    if (nowMs === undefined || !(await isCompared(nowMs))) return false
    if (signal.aborted) return true
    const endedBefore = nowMs - keepDays * dayMs
    const abandoned = abandonedOf(checkpoints, awaited, endedBefore)
    await store.upkeep.prune(endedBefore, nowMs - gapDays * dayMs, abandoned)
    return true
  }
}

/** A backfill will read these days again, whatever their age: their fingerprints are needed until then. */
async function awaitedStreams(store: Store): Promise<ReadonlySet<string>> {
  const awaited = new Set<string>()
  for (const { state, streams, resend } of await store.backfills.list()) {
    if (state === 'done' || state === 'cancelled' || resend === true) continue
    for (const { stream, state: own } of streams) if (own === 'queued') awaited.add(streamKey(stream))
  }
  return awaited
}
