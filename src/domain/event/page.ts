import type { Event } from './event.ts'

/** The place of a page in a listing, opaque. The first page has none. */
export type Cursor = string & { readonly brand: 'Cursor' }

/** One answer of the API, normalised. */
export interface Page {
  readonly events: readonly Event[]
  /** False on the last page of the listing. */
  readonly more: boolean
  /** Opens the next page. Null on the last page, and where the API said "more" without naming a cursor. */
  readonly next: Cursor | null
  /** Size of the decoded body. */
  readonly bytes: number
  /** When the request was sent, ms since the epoch, by this host's steady clock. */
  readonly requestedAt: number
  /** The API's clock minus this host's steady clock, from the answer's `Date`; absent without one. */
  readonly clockOffsetMs?: number
  /** Pages with the same one may have come over one connection, from one server. */
  readonly connection?: object
  /** Returns the page's bytes to the process-wide memory budget. Call it once the events are delivered or discarded. */
  readonly release: () => void
}
