/**
 * How a part of a file sink differs from what the store knows:
 * - `missing`: a committed length but no file; if this path does not know its writer, it may be on another host.
 * - `short`: committed lines are gone.
 * - `longer`: lines beyond the committed length, which the stream's next pump would cut.
 * - `unknown`: a part of this sink without a committed length.
 * - `foreign`: not touched; `why` gives the reason.
 */
export interface PartReport {
  readonly part: string
  readonly problem: 'missing' | 'short' | 'longer' | 'unknown' | 'foreign'
  /** Committed length; absent where nothing was committed. */
  readonly expectedBytes?: number
  /** Uncompressed length; absent where there is no file or its length is unknown. */
  readonly foundBytes?: number
  readonly why: string
  /** This path does not know its writer: the part may be on the disk of another host. */
  readonly isElsewhere?: boolean
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
