import { dayMs, endOf } from './day.ts'
import { countText, sumOf } from './text/terminal-text.ts'
import type { ZoneDay } from './stream.ts'

/** How long gaps are kept after they were recorded. */
export const gapDays = 90

/** How long a sink keeps days; null: no limit. */
export interface RetentionLimits {
  /** Whole days after the end of a day. */
  readonly days: number | null
  /** Of all days together, as they are on the disk. */
  readonly maxBytes: number | null
}

/** A zone's day in the folder of a sink. */
export interface StoredDay extends ZoneDay {
  /** 0 where sizes do not matter. */
  readonly bytes: number
}

/** The limit by which a day was removed: one of both. */
export type ReachedLimit = { readonly days: number } | { readonly maxBytes: number }

/** The mark of a removed day in its checkpoint. `atMs` is by the clock that gives parts their names. */
export type Removed = ReachedLimit & { readonly atMs: number }

export interface Candidate extends StoredDay {
  /** The time by which it is judged; undefined for one that must stay. */
  readonly nowMs: number | undefined
  /** It has the mark: a removal was interrupted. */
  readonly begun?: ReachedLimit | undefined
}

/**
 * Chooses whole days of zones, the oldest first: those older than `days`, then as many as `maxBytes` requires, and what
 * was begun. `excessBytes`: what is left above `maxBytes`.
 */
export function daysToRemove<Stored extends Candidate>(
  stored: readonly Stored[],
  { days, maxBytes }: RetentionLimits,
) {
  const oldest = stored.toSorted((a, b) => (a.day === b.day ? a.zone - b.zone : a.day < b.day ? -1 : 1))
  let excessBytes = sumOf(stored, 'bytes') - (maxBytes ?? Infinity)
  function limitOf({ day, nowMs, begun }: Stored): ReachedLimit | undefined {
    if (nowMs === undefined) return undefined
    if (begun !== undefined) return begun
    if (days !== null && endOf(day) + days * dayMs <= nowMs) return { days }
    return maxBytes !== null && excessBytes > 0 ? { maxBytes } : undefined
  }
  const chosen = oldest.flatMap((each) => {
    const limit = limitOf(each)
    if (limit === undefined) return []
    excessBytes -= each.bytes
    return [{ stored: each, limit }]
  })
  return { chosen, excessBytes: Math.max(0, excessBytes) }
}

/** `removed after 30 days`. */
export function removedText(limit: ReachedLimit): string {
  if ('days' in limit) return `removed after ${limit.days === 1 ? '1 day' : `${limit.days} days`}`
  return `removed by size (retention.maxBytes: ${countText(limit.maxBytes)})`
}
