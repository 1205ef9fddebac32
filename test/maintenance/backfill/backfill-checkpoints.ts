import { newCheckpoint, type Checkpoint } from '../../../src/domain/checkpoint.ts'
import type { Day } from '../../../src/domain/day.ts'
import type { Stream } from '../../../src/domain/stream.ts'
import { beginScan, type Scan, type ScanRecord } from '../../../src/domain/scan/scan.ts'
import { unknownOrdering } from '../../../src/domain/scan/ordering.ts'

export const nowMs = Date.parse('2026-11-20T12:00:00.000Z')

export function streamOf(zone: number, day: string, sink = 'archive'): Stream {
  return { zone, day: day as Day, sink }
}

export function checkpointOf(stream: Stream, changes: Partial<Checkpoint>): Checkpoint {
  return { ...newCheckpoint(stream, nowMs, unknownOrdering), commit: 1, ...changes }
}

/** A complete full scan that began an hour ago. */
export function recordOf(pages: number, found = 0, readRequest?: string): ScanRecord {
  const beganAtMs = nowMs - 3_600_000
  const record = { beganAtMs, endedAtMs: beganAtMs + 1000, tookMs: 500, pages, found, newestAtBeginMs: null }
  return readRequest === undefined ? record : { ...record, readRequest }
}

/** One that is under way. */
export function scanOf(pages: number, found: number, readRequest?: string): Scan {
  const start = { kind: 'full', beganAtMs: nowMs - 1000, cursor: null } as const
  const begun = beginScan({ ...start, overlapStartMs: null, newestAtBeginMs: null })
  return { ...begun, pages, found, ...(readRequest !== undefined && { readRequest }) }
}
