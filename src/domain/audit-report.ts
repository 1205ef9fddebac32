/** What the latest audit of a stream found, as the store keeps it. Counts are events. */
export interface AuditRecord {
  readonly atMs: number
  /** Of the program that compared. */
  readonly version: string
  readonly isEqual: boolean
  readonly listed: number
  readonly ledger: number
  readonly missing: number
  readonly extra: number
  readonly notYetDue: number
  readonly isByCounts: boolean
  /** What is wrong with the files or objects, where they were read and differ. Safe to print. */
  readonly files?: string | undefined
}

/**
 * How a part of a file sink, or an object in a bucket, differs from what the store knows:
 * - `missing`: a committed length but no file; if this path does not know its writer, it may be on another host.
 * - `short`: committed lines are gone.
 * - `longer`: lines beyond the committed length, which the stream's next pump would cut.
 * - `changed`: an object has another size than the one that was committed.
 * - `unknown`: a part of this sink without a committed length, or an object beyond the last committed number.
 * - `foreign`: not touched; `why` gives the reason.
 */
export interface PartReport {
  readonly part: string
  readonly problem: 'missing' | 'short' | 'longer' | 'changed' | 'unknown' | 'foreign'
  /** Committed length, or size of an object; absent where nothing was committed. */
  readonly expectedBytes?: number
  /** Uncompressed length, or size of an object; absent where there is no file or its length is unknown. */
  readonly foundBytes?: number
  readonly why: string
  /** This path does not know its writer: the part may be on the disk of another host. */
  readonly isElsewhere?: boolean
  /** Number of a missing or changed object. */
  readonly object?: number
  /** A sink that may ship an event twice has left it; its events are shipped in other objects. */
  readonly isRepeat?: true
  /** A repair has counted what it held as not delivered: it stays missing, and no event lacks for it. */
  readonly isRepaired?: boolean
}

/** Nothing to repair: no lines are missing for it, and no repair removes it. */
export function isSettled({ problem, isRepaired, isRepeat }: PartReport): boolean {
  return problem === 'foreign' || isRepaired === true || isRepeat === true
}

/** Whole lines of a part, in order, or what was made of each. */
export interface PartLines<Line = string> {
  readonly part: string
  /** Number of the first of them, from 1. */
  readonly from: number
  /** Of the uncompressed lines together. */
  readonly bytes: number
  readonly lines: readonly Line[]
}

/** Result of reading a part up to its committed length, or to its end. */
export interface PartEnd {
  readonly part: string
  /** Whole lines, and the uncompressed bytes that they take. */
  readonly wholeLines: number
  readonly wholeBytes: number
  /** The text after them ends within a line. */
  readonly isTorn: boolean
  readonly isCompressed: boolean
  /** Why it could not be read to its end. */
  readonly damage?: string
}
