import type { Checkpoint } from '../checkpoint.ts'
import type { Policy } from '../plan/policy.ts'
import type { PolledSpan, ScanRecord } from './scan.ts'

/** The complete scan, full or incremental, that began last. */
export function latestScan({ lastFull, lastIncremental }: Checkpoint): ScanRecord | undefined {
  if (lastFull === undefined || lastIncremental === undefined) return lastFull ?? lastIncremental
  return lastFull.beganAtMs >= lastIncremental.beganAtMs ? lastFull : lastIncremental
}

/**
 * Where the overlap of the next scan begins: so long before the newest event that was known when the previous scan
 * began. Null while no event was known then: nothing lies outside the overlap.
 */
export function overlapStart(checkpoint: Checkpoint, policy: Pick<Policy, 'overlapMs'>): number | null {
  const newestMs = latestScan(checkpoint)?.newestAtBeginMs ?? null
  return newestMs === null ? null : newestMs - policy.overlapMs
}

/** Unseen events older than this arrived later than the overlap covers; null while a first scan is under way. */
export function lateBefore(checkpoint: Checkpoint, policy: Pick<Policy, 'overlapMs'>): number | null {
  const last = checkpoint.lastFull === undefined ? undefined : latestScan(checkpoint)
  return last === undefined ? null : last.beganAtMs - policy.overlapMs
}

/**
 * Of what a full scan finds, the events that incremental scans should have found before: older than the latest one's start
 * less the overlap. Not those that were older than the overlap already when the previous full scan began and were not
 * there then: they came late, which tells nothing about where new events turn up.
 */
export function polledSpan(
  checkpoint: Checkpoint,
  { overlapMs }: Pick<Policy, 'overlapMs'>,
): PolledSpan | null {
  const { lastIncremental, lastFull } = checkpoint
  if (lastIncremental === undefined) return null
  const knownMs = lastFull?.newestAtBeginMs ?? null
  return {
    fromMs: knownMs === null ? -Infinity : knownMs - overlapMs,
    beforeMs: lastIncremental.beganAtMs - overlapMs,
  }
}
