/**
 * A person asks for a complete full scan of a stream that begins after the request was made (backfill, `run --once`,
 * `audit --repair`); it does not wait for a pace. Scans carry the request that they serve, so that no clock has to be
 * compared. An unfinished scan is ended first.
 */
export interface ReadRequest {
  readonly id: string
  /** The day is read from files of another sink. Default: from the API. */
  readonly source?: 'archive'
}

/** What became of a request; written in the commit that answers it. */
export interface RequestAnswer {
  readonly id: string
  readonly outcome: 'done' | 'left_out'
  /** Unseen events that its scan found. */
  readonly found?: number
  /** Why the day was left out. */
  readonly reason?: string
}
