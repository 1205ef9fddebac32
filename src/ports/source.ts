import type { Day } from '../domain/day.ts'
import type { Cursor, Page } from '../domain/event/page.ts'
import type { Priority, Zone } from '../domain/stream.ts'

/**
 * Reads one page of a zone's day, already normalised and redacted.
 *
 * Retries one request a few times, for 10 s in all, and waits for the account's request budget; keeps no other state.
 * Throws only Failure: `window_closed`, `cursor_expired`, `unauthorised` (stop), `zone_gone`, `page_too_large`
 * (refuse), `bad_body`, `rejected`, `timeout`, `network`, `tls`, `server_error` (retry), `throttled` (wait, with
 * `retryAt`), `cancelled`. An entry that cannot be parsed becomes an event that keeps its raw text; it never fails the
 * page.
 */
export interface Source {
  /** Base URL; absent where no server is asked. */
  readonly address?: string
  fetchPage(request: PageRequest, signal: AbortSignal): Promise<Page>
}

export interface PageRequest {
  readonly zone: Zone
  readonly day: Day
  /** Null requests the first page; the source encodes that as the API expects. */
  readonly cursor: Cursor | null
  readonly priority: Priority
  /** The sink that the page is for: sinks share the memory for pages. Absent for none, as in an audit. */
  readonly sink?: string
  /**
   * For a page that is fetched ahead: the source calls it once a good answer has arrived, and keeps the answer as bytes
   * until it resolves, since the decoded events would take three times as much memory.
   */
  readonly whenWanted?: () => Promise<void>
}
