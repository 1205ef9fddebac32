import type { Day } from '../domain/day.ts'
import type { Cursor, Page } from '../domain/event/page.ts'
import type { Priority, Zone } from '../domain/stream.ts'

/**
 * Reads one page of a zone's day, already normalised and redacted.
 *
 * Retries one request a few times within seconds (never longer than the port's caller is told: 10 s in all) and waits
 * for the account's request budget; remembers nothing else. Throws only Failure:
 * `window_closed`, `cursor_expired`, `unauthorised` (stop), `zone_gone`, `page_too_large` (refuse), `bad_body`,
 * `rejected`, `timeout`, `network`, `tls`, `server_error` (retry), `throttled` (wait, with `retryAt`), `cancelled`.
 * An entry that cannot be understood is an event that keeps its raw text; it never fails the page.
 */
export interface Source {
  /** Base URL; absent where nothing is asked over a network. */
  readonly address?: string
  fetchPage(request: PageRequest, signal: AbortSignal): Promise<Page>
}

export interface PageRequest {
  readonly zone: Zone
  readonly day: Day
  /** Null asks for the first page, in whichever form the API wants that said. */
  readonly cursor: Cursor | null
  readonly priority: Priority
  /** Whom the page is for: sinks share the memory that pages may take. Absent where it is for none, as in an audit. */
  readonly sink?: string
  /**
   * For a page that is fetched ahead: called once a good answer is there, which is then kept as bytes until this
   * resolves. Its events would take thrice as much.
   */
  readonly whenWanted?: () => Promise<void>
}
