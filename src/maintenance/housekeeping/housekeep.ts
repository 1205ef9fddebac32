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

/** A route that is planned is told to the store each minute. */
const plannedWithinMs = 600_000

/**
 * Lets go of what is no longer needed: fingerprints of ended days that cannot be read any more (their counts stay),
 * old checkpoints and old gaps. Only once the API has told its time: a host clock that is days ahead must not forget
 * anything. False where it is too early for that: then it is to be asked again soon.
 */
export function createHousekeeping(deps: HousekeepDeps): (signal: AbortSignal) => Promise<boolean> {
  const { store, apiClock, settings, keepDays } = deps
  /** Forgetting is a write also where nothing is left to forget, and ended streams are kept for weeks. */
  const forgotten = new Set<string>()

  /** The earliest of the times that the APIs of all accounts have told. */
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
    /** Of a zone that left the configuration nobody tells the time. */
    const nowOf = (zone: number) => {
      const account = accounts.get(zone)
      if (account === undefined) return earliestNow()
      return apiClock.isConfirmed(account) ? apiClock.now(account) : undefined
    }
    for (const { stream, ended, archives } of checkpoints) {
      if (signal.aborted) return
      const key = streamKey(stream)
      const nowMs = nowOf(stream.zone)
      if (ended === undefined || nowMs === undefined) continue
      // A day longer than the API keeps it: its fingerprints may still be asked for by a clock that is a little behind.
      const isAwaited = archives !== undefined || awaited.has(key)
      if (isAwaited || isReadable(stream.day, nowMs - dayMs, policy)) forgotten.delete(key)
      else if (!forgotten.has(key)) {
        await store.upkeep.forgetFingerprints(stream)
        forgotten.add(key)
      }
    }
    const kept = new Set(checkpoints.map(({ stream }) => streamKey(stream)))
    for (const key of forgotten) if (!kept.has(key)) forgotten.delete(key)
  }

  /** What was read tells which days were not: nothing of it goes before the planner has compared all routes with it. */
  async function isCompared(nowMs: number): Promise<boolean> {
    const { zones, sinks } = settings()
    return (await store.catalogue.routes()).every(
      ({ zone, sink, plannedAtMs }) =>
        !zones.some(({ id }) => id === zone) ||
        !sinks.includes(sink) ||
        plannedAtMs > nowMs - plannedWithinMs,
    )
  }

  /** Nobody ends the streams of a zone or sink that left the configuration: the end of their days ends them. */
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

/** What a backfill is about to read again, whatever its age, must be known until then. */
async function awaitedStreams(store: Store): Promise<ReadonlySet<string>> {
  const awaited = new Set<string>()
  for (const { state, streams } of await store.backfills.list()) {
    if (state === 'done' || state === 'cancelled') continue
    for (const { stream, state: own } of streams) if (own === 'queued') awaited.add(streamKey(stream))
  }
  return awaited
}
