import { entryId, entryJson, type EntryShape } from './entries/entry.ts'
import type { WireEntry } from './wire.ts'

/** A sequence of entries in the order of arrival, addressed by their number in the listing, from `first` on. */
export interface Run {
  readonly first: number
  readonly count: number
  json(seq: number): string
  id(seq: number): string
  /** Time of the event, ms since the epoch; the listing is ordered by it. */
  timestampMs(seq: number): number
}

export interface Place {
  readonly zone: number
  readonly dayNumber: number
}

/** A run that can grow at its end. Computes its entries, so that a day of millions takes no memory. */
export interface GrowingRun extends Run {
  grow(by: number): void
}

export interface GeneratedRunOptions {
  readonly place: Place
  readonly shape: EntryShape
  readonly first: number
  readonly timestampOf: (index: number) => number
  readonly size?: number
}

export function createGeneratedRun({
  place,
  shape,
  first,
  timestampOf,
  size = 0,
}: GeneratedRunOptions): GrowingRun {
  let count = size
  const timestampMs = (seq: number): number => timestampOf(seq - first)
  return {
    first,
    get count() {
      return count
    },
    json: (seq) => entryJson(shape, { ...place, seq }, timestampMs(seq)),
    id: (seq) => entryId(shape, { ...place, seq }),
    timestampMs,
    grow: (by) => {
      count += by
    },
  }
}

/** Entries from a caller. They may be malformed, as from a hostile service. */
export function createGivenRun(
  entries: readonly WireEntry[],
  first: number,
  timestampOf: (index: number) => number,
): Run {
  const texts = entries.map((entry) => JSON.stringify(entry))
  const text = (seq: number): string => texts[seq - first] ?? 'null'
  return {
    first,
    count: texts.length,
    json: text,
    id: (seq) => {
      const entry: unknown = entries[seq - first]
      const id: unknown = typeof entry === 'object' && entry !== null && 'logId' in entry ? entry.logId : null
      return typeof id === 'string' ? id : text(seq)
    },
    timestampMs: (seq) => timestampOf(seq - first),
  }
}
