import { dayMs } from '../../domain/day.ts'
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

/**
 * Lets go of what is no longer needed: fingerprints of ended days that cannot be read any more (their counts stay),
 * old checkpoints and old gaps. Only once the API has told its time: a host clock that is days ahead must not forget
 * anything.
 */
export function createHousekeeping(deps: HousekeepDeps): (signal: AbortSignal) => Promise<void> {
  const { store, apiClock, settings, keepDays } = deps
  /** Forgetting is a write also where nothing is left to forget, and ended streams are kept for weeks. */
  const forgotten = new Set<string>()

  async function forgetUnreadable(signal: AbortSignal): Promise<void> {
    const { zones, policy } = settings()
    const accounts = new Map(zones.map(({ id, account }) => [id, account]))
    const awaited = await awaitedStreams(store)
    const checkpoints = await store.catalogue.checkpoints()
    for (const { stream, ended, archives } of checkpoints) {
      if (signal.aborted) return
      const key = streamKey(stream)
      const account = accounts.get(stream.zone)
      if (ended === undefined || account === undefined || !apiClock.isConfirmed(account)) continue
      // A day longer than the API keeps it: its fingerprints may still be asked for by a clock that is a little behind.
      const isAwaited = archives !== undefined || awaited.has(key)
      if (isAwaited || isReadable(stream.day, apiClock.now(account) - dayMs, policy)) forgotten.delete(key)
      else if (!forgotten.has(key)) {
        await store.upkeep.forgetFingerprints(stream)
        forgotten.add(key)
      }
    }
    const kept = new Set(checkpoints.map(({ stream }) => streamKey(stream)))
    for (const key of forgotten) if (!kept.has(key)) forgotten.delete(key)
  }

  return async (signal) => {
    await forgetUnreadable(signal)
    const accounts = new Set(settings().zones.map(({ account }) => account))
    // What was read tells which days were not: nothing of it goes before every account was compared with it.
    if (signal.aborted || accounts.size === 0 || ![...accounts].every(apiClock.isConfirmed)) return
    const nowMs = Math.min(...[...accounts].map(apiClock.now))
    await store.upkeep.prune(nowMs - keepDays * dayMs, nowMs - gapDays * dayMs)
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
