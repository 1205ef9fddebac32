import type { Checkpoint } from './checkpoint.ts'
import type { Policy } from './policy.ts'
import type { PolledSpan, SweepRecord } from './sweep.ts'

/** The complete sweep, full or partial, that began last. */
export function latestSweep({ lastFull, lastPartial }: Checkpoint): SweepRecord | undefined {
  if (lastFull === undefined || lastPartial === undefined) return lastFull ?? lastPartial
  return lastFull.beganAtMs >= lastPartial.beganAtMs ? lastFull : lastPartial
}

/**
 * Where the overlap of the next sweep begins: so long before the newest event that was known when the previous sweep
 * began. Null while no event was known then: nothing lies outside the overlap.
 */
export function overlapStart(checkpoint: Checkpoint, policy: Pick<Policy, 'overlapMs'>): number | null {
  const newestMs = latestSweep(checkpoint)?.newestAtBeginMs ?? null
  return newestMs === null ? null : newestMs - policy.overlapMs
}

/** Unseen events older than this arrived later than the overlap covers; null while a first sweep is under way. */
export function lateBefore(checkpoint: Checkpoint, policy: Pick<Policy, 'overlapMs'>): number | null {
  const last = checkpoint.lastFull === undefined ? undefined : latestSweep(checkpoint)
  return last === undefined ? null : last.beganAtMs - policy.overlapMs
}

/**
 * Of what a full sweep finds, the events that partial sweeps should have found before: older than the latest one's start
 * less the overlap. Not those that were older than the overlap already when the previous full sweep began and were not
 * there then: they came late, which tells nothing about where new events turn up.
 */
export function polledSpan(
  checkpoint: Checkpoint,
  { overlapMs }: Pick<Policy, 'overlapMs'>,
): PolledSpan | null {
  const { lastPartial, lastFull } = checkpoint
  if (lastPartial === undefined) return null
  const knownMs = lastFull?.newestAtBeginMs ?? null
  return {
    fromMs: knownMs === null ? -Infinity : knownMs - overlapMs,
    beforeMs: lastPartial.beganAtMs - overlapMs,
  }
}
