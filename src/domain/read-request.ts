/**
 * A person asks for a complete full scan of a stream that begins after the request (backfill, `run --once`, `audit
 * --repair`). It is due at once. A scan carries the id of the request that it serves, so no clocks are compared. An
 * unfinished scan is completed first.
 */
export interface ReadRequest {
  readonly id: string
  /** The day is read from files of another sink. Default: from the API. */
  readonly source?: 'archive'
}

/** The outcome of a request; written in the commit that answers it. */
export interface RequestAnswer {
  readonly id: string
  readonly outcome: 'done' | 'left_out'
  /** Unseen events that its scan found. */
  readonly found?: number
  /** Why the day was left out. */
  readonly reason?: string
}
