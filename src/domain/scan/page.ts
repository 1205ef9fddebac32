import type { Event } from '../event/event.ts'
import { listedFingerprint } from '../event/fingerprint.ts'
import { asListed, FingerprintSet } from '../event/seen.ts'
import { markSize } from '../policy.ts'

/** The place of a page in a listing, opaque. The first page has none. */
export type Cursor = string & { readonly brand: 'Cursor' }

/** What an answer lists. */
export interface PageContent {
  readonly events: readonly Event[]
  /** False on the last page of the listing. */
  readonly more: boolean
  /** Opens the next page. Null on the last page, and where the API said "more" without naming a cursor. */
  readonly next: Cursor | null
}

/** One answer of the API, normalised. */
export interface Page {
  /**
   * Parsed at the first call, which comes before `release`, and kept; only that of a page that was fetched ahead throws
   * Failure. No getters: V8 keeps those of each object literal, and so all entries of the page, until its next major
   * collection.
   */
  readonly content: () => PageContent
  /** Of the decoded body. */
  readonly bytes: number
  /** When the request was sent, ms since the epoch, by this host's steady clock. */
  readonly requestedAt: number
  /** Of an answer from a cache: it was made at most so long before the request. */
  readonly ageMs?: number
  /** The API's clock minus this host's steady clock, from the `Date` of an answer that was made for the request. */
  readonly clockOffsetMs?: number
  /** Pages with the same one may have come over one connection, from one server. */
  readonly connection?: object
  /** Returns the page's bytes to the process-wide memory budget. Call it once the events are delivered or discarded. */
  readonly release: () => void
  /** Of the answer, where the request asked for it: the same hash means the same page. */
  readonly hash?: string
  /** Of a page that another stream requested: how long that took. The API's time was learned from it then. */
  readonly shared?: { readonly tookMs: number }
}

/** What a scan needs to know of a page; the delivery takes the events themselves. */
export type PageFacts = ReturnType<typeof factsOf>

interface ReadAt {
  /** Cursor that opened the page; null for the first page. */
  readonly cursor: Cursor | null
  readonly nowMs: number
  readonly tookMs: number
  /** What its scan has still to meet. */
  readonly owed?: readonly string[]
  /** It came from a cache, and may be older than the page before it. */
  readonly isOlder?: boolean
}

/** What a stream knows of the events of a page. */
interface Sighted {
  readonly unseen: readonly Event[]
  /** Different events, as they are listed, that the store held and that are not among the latest ones of the scan. */
  readonly met: number
  /** The same once everything on the page is seen. */
  readonly metOnceSeen: number
  /** Those that the store does not hold as they are listed, since each entry has an id of its own. */
  readonly apart: number
  /** Events of the page, as they are listed. */
  readonly listed: FingerprintSet
}

const unsighted: Sighted = { unseen: [], met: 0, metOnceSeen: 0, apart: 0, listed: new FingerprintSet() }

export function factsOf(
  { events, more, next }: PageContent,
  { cursor, nowMs, tookMs, owed = [], isOlder = false }: ReadAt,
  { unseen, met, metOnceSeen, apart, listed }: Sighted = unsighted,
) {
  let oldestMs: number | null = null
  let newestMs: number | null = null
  let latestMs: number | null = null
  for (const { timeMs } of events) {
    if (timeMs === undefined) continue
    if (oldestMs === null || timeMs < oldestMs) oldestMs = timeMs
    if (latestMs === null || timeMs > latestMs) latestMs = timeMs
    if (timeMs <= nowMs && (newestMs === null || timeMs > newestMs)) newestMs = timeMs
  }
  return {
    cursor,
    next,
    more,
    events: events.length,
    unseen: unseen.length,
    /** Event times of the unseen events that have one. */
    unseenTimesMs: timesOf(unseen),
    /** Range of the page's event times; null where no event has one. `newestMs` ignores future times. */
    oldestMs,
    newestMs,
    /** Newest event time, future ones included: nothing on the page is newer. */
    latestMs,
    /** Fingerprints (hex) of its first and of its last events, as they are listed; at most the size of a mark. */
    head: events.slice(0, markSize).map(identityOf),
    last: events.slice(-markSize).map(identityOf),
    met,
    metOnceSeen,
    apart,
    /** Unseen events without an own id. */
    fresh: asListed(unseen),
    /** Those that its scan has still to meet after it. */
    owed: owed.filter((identity) => !listed.has(BigInt(`0x${identity}`))),
    tookMs,
    isOlder,
  }
}

function identityOf(event: Event): string {
  return listedFingerprint(event).toString(16).padStart(16, '0')
}

export function timesOf(events: readonly Pick<Event, 'timeMs'>[]): number[] {
  return events.flatMap(({ timeMs }) => timeMs ?? [])
}
