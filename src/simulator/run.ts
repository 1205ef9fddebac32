import { entryId, entryJson, type EntryShape } from './entries/entry.ts'
import type { WireEntry } from './wire.ts'

/** Entries that arrived one after the other. Asked by their number within the listing, from `first` on. */
export interface Run {
  readonly first: number
  readonly count: number
  json(seq: number): string
  id(seq: number): string
  /** When the event happened, ms since the epoch; what the listing is ordered by. */
  timestampMs(seq: number): number
}

export interface Place {
  readonly zone: number
  readonly dayNumber: number
}

/** A run that may grow at its end. Holds a formula, not entries: a day of millions costs nothing. */
export interface GrowingRun extends Run {
  grow(by: number): void
}

export function createGeneratedRun(
  place: Place,
  shape: EntryShape,
  first: number,
  timestampOf: (index: number) => number,
  size = 0,
): GrowingRun {
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

/** Entries that a caller made; a caller may hand over anything, as a hostile service might. */
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
