import { newCheckpoint, type Checkpoint, type Trouble } from '../../src/domain/checkpoint.ts'
import { parseDay, startOf, type Day } from '../../src/domain/day.ts'
import type { Cursor, PageFacts } from '../../src/domain/scan/page.ts'
import type { Policy } from '../../src/domain/policy.ts'
import type { Stream } from '../../src/domain/stream.ts'
import { beginScan, type Scan, type ScanRecord } from '../../src/domain/scan/scan.ts'
import { unknownOrdering } from '../../src/domain/scan/ordering.ts'

export const minuteMs = 60_000
export const hourMs = 3_600_000

export function dayAt(text: string): Day {
  const day = parseDay(text)
  if (day === undefined) throw new Error(`${text} is no day`)
  return day
}

export const today = dayAt('2026-11-20')
export const stream: Stream = { zone: 101, day: today, sink: 'archive' }

/** An instant of the stream's day, in hours since it began. */
export function at(hours: number): number {
  return startOf(today) + hours * hourMs
}

export const policy: Policy = {
  everyMs: 30_000,
  readableDays: 3,
  firstRunDays: 3,
  overlapMs: 10 * minuteMs,
  fullScanMs: hourMs,
  settleAfterMs: [0.5, 6, 24, 44].map((hours) => hours * hourMs),
}

export function cursorAt(text: string | number): Cursor {
  return String(text) as Cursor
}

export function buildCheckpoint(more: Partial<Checkpoint> = {}): Checkpoint {
  return { ...newCheckpoint(more.stream ?? stream, at(0), unknownOrdering), ...more }
}

export function buildRecord(more: Partial<ScanRecord> = {}): ScanRecord {
  return {
    beganAtMs: at(1),
    endedAtMs: at(1) + 1_000,
    tookMs: 1_000,
    pages: 10,
    found: 0,
    newestAtBeginMs: null,
    ...more,
  }
}

export function buildScan(more: Partial<Scan> = {}): Scan {
  return {
    ...beginScan({
      kind: 'full',
      beganAtMs: at(2),
      cursor: null,
      overlapStartMs: null,
      newestAtBeginMs: null,
    }),
    ...more,
  }
}

/** A page in the middle of a listing, with nothing new on it. */
export function buildFacts(more: Partial<PageFacts> = {}): PageFacts {
  return {
    cursor: null,
    next: cursorAt('next'),
    more: true,
    events: 10,
    unseen: 0,
    unseenTimesMs: [],
    oldestMs: null,
    newestMs: null,
    latestMs: null,
    head: [],
    last: [],
    met: 0,
    metOnceSeen: 0,
    apart: 0,
    fresh: 0,
    owed: [],
    isOlder: false,
    tookMs: 100,
    ...more,
  }
}

export function buildTrouble(more: Partial<Trouble> = {}): Trouble {
  return { kind: 'retry', code: 'network', message: '', count: 2, sinceMs: 1, atMs: 1, retryAtMs: 2, ...more }
}
