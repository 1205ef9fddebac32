import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import type { Day } from '../../../src/domain/day.ts'
import { newCheckpoint } from '../../../src/domain/progress.ts'
import type { Stream } from '../../../src/domain/stream.ts'
import { beginSweep, type Sweep, type SweepRecord } from '../../../src/domain/sweep.ts'
import { noTrust } from '../../../src/domain/trust.ts'

export const nowMs = Date.parse('2026-11-20T12:00:00.000Z')

export function streamOf(zone: number, day: string, sink = 'archive'): Stream {
  return { zone, day: day as Day, sink }
}

export function checkpointOf(stream: Stream, changes: Partial<Checkpoint>): Checkpoint {
  return { ...newCheckpoint(stream, nowMs, noTrust), commit: 1, ...changes }
}

/** A complete full sweep that began an hour ago. */
export function recordOf(pages: number, found = 0, wish?: string): SweepRecord {
  const beganAtMs = nowMs - 3_600_000
  const record = { beganAtMs, endedAtMs: beganAtMs + 1000, tookMs: 500, pages, found, newestAtBeginMs: null }
  return wish === undefined ? record : { ...record, wish }
}

/** One that is under way. */
export function sweepOf(pages: number, found: number, wish?: string): Sweep {
  const start = { kind: 'full', beganAtMs: nowMs - 1000, cursor: null } as const
  const begun = beginSweep({ ...start, overlapStartMs: null, newestAtBeginMs: null })
  return { ...begun, pages, found, ...(wish !== undefined && { wish }) }
}
