/**
 * How a part of a file sink differs from what the store knows:
 * - `missing`: a committed length, and no file; on another host's disk when nothing here knows its writer.
 * - `short`: committed lines are gone.
 * - `longer`: lines beyond the committed length, which the stream's next pump would cut.
 * - `unknown`: a part of this sink without a committed length.
 * - `foreign`: left alone; `why` tells.
 */
export interface PartReport {
  readonly part: string
  readonly problem: 'missing' | 'short' | 'longer' | 'unknown' | 'foreign'
  /** Committed length; absent where nothing was committed. */
  readonly expectedBytes?: number
  /** Uncompressed length; absent where there is no file or it does not tell. */
  readonly foundBytes?: number
  readonly why: string
  /** Nothing on this path knows its writer: it may lie on the disk of another host. */
  readonly isElsewhere?: boolean
}

/** Said once a part was read as far as it is committed, or as far as it goes. */
export interface PartEnd {
  readonly part: string
  /** Whole lines, and the uncompressed bytes that they take. */
  readonly wholeLines: number
  readonly wholeBytes: number
  /** What comes after them ends within a line. */
  readonly isTorn: boolean
  readonly isCompressed: boolean
  /** Why it could not be read to its end. */
  readonly damage?: string
}
