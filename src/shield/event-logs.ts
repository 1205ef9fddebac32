import type { Day } from '../domain/day.ts'
import type { Json } from '../domain/text/json.ts'
import { Failure } from '../domain/failure.ts'
import type { Cursor, Page } from '../domain/scan/page.ts'
import type { PageRequest, Source } from '../ports/delivery.ts'
import { pathSegment, type ShieldClient } from './client/client.ts'
import type { Reservation } from './client/page-budget.ts'
import { eventsOf } from './entries/to-event.ts'
import { identitiesOf, type OwnIds } from './entries/identities.ts'
import type { Redactor } from './redaction/redact.ts'

/** Whoever wants to share a page reserves its memory first, and passes it on. */
export interface EventLogSource extends Source {
  /** Waits for it. Throws Failure `no_room` with `ifRoom`, and `cancelled`. */
  reserve(request: PageRequest, signal: AbortSignal): Promise<Reservation>
  /** Without `memory` it reserves some. Releases it where it throws. */
  fetchPage(request: PageRequest, signal: AbortSignal, memory?: Reservation): Promise<Page>
}

/** The event logs of all accounts. The redactor may change while the process runs. */
export function createEventLogSource(
  clientOf: (account: string) => ShieldClient,
  redactorOf: () => Redactor,
): EventLogSource {
  const ends = new PageEnds()
  return {
    reserve: (page, signal) => clientOf(page.zone.account).reserve(page, signal),
    async fetchPage(page, signal, memory): Promise<Page> {
      const { zone, day, cursor } = page
      const client = clientOf(zone.account)
      const read = (body: unknown) => {
        const { entries, more, token } = readPage(body)
        const listing = `${zone.id}/${day}`
        const { identities, end } = identitiesOf(entries, ends.before(listing, cursor))
        const next = more && token !== undefined ? (token as Cursor) : null
        if (next !== null) ends.keep(listing, next, end())
        const named = { id: zone.id, name: zone.name }
        return { events: eventsOf(entries, named, redactorOf(), identities), more, next }
      }
      const path = pagePath(zone.id, day, cursor ?? client.firstPage, cursor === null)
      const token = cursor ?? undefined
      const call = { operation: 'event_logs', method: 'GET', path, token, read, page } as const
      const { value, reservation, ...answer } = await client.send(call, signal, memory)
      return {
        ...answer,
        get events() {
          return value().events
        },
        get more() {
          return value().more
        },
        get next() {
          return value().next
        },
        release: reservation.release,
      }
    },
  }
}

/**
 * Of all ends, each of which counts for ten at least: more ends than pages are being read at once. Most pages end with
 * one entry of its time, but those of a flood with many. Together some megabytes.
 */
const mostEntries = 20_000
const leastOfAnEnd = 10

/** The ends of pages, by the cursor of the page after them. */
export class PageEnds {
  readonly #ends = new Map<string, OwnIds>()

  before(listing: string, cursor: Cursor | null): OwnIds | undefined {
    return cursor === null ? undefined : this.#ends.get(`${listing} ${cursor}`)
  }

  keep(listing: string, next: Cursor, end: OwnIds): void {
    const key = `${listing} ${next}`
    this.#ends.delete(key)
    this.#ends.set(key, end)
    let room = mostEntries
    for (const [held, { size }] of [...this.#ends].reverse()) {
      room -= Math.max(leastOfAnEnd, size)
      if (room < 0) this.#ends.delete(held)
    }
  }
}

/** Of the page that a token opens, or of the first page in one of its forms. */
export function pagePath(zone: number, day: Day, token: string, isFirst: boolean): string {
  const [year, month, date] = day.split('-')
  const place = `/shield/event-logs/${zone}/${month}-${date}-${year}`
  if (isFirst && token === 'omit') return place
  return isFirst && token === 'empty' ? `${place}/` : `${place}/${pathSegment(token)}`
}

/** Without a schema: a page has thousands of entries, checked later. What `startToken` means is not documented. */
function readPage(body: unknown) {
  if (typeof body !== 'object' || body === null) throw badPage('it is not a JSON object')
  const { logs, hasMoreData, continuationToken } = body as Readonly<Record<string, unknown>>
  if (typeof hasMoreData !== 'boolean') throw badPage('hasMoreData is missing')
  if (logs !== null && !Array.isArray(logs)) throw badPage('logs is not a list')
  const token = Number.isSafeInteger(continuationToken) ? String(continuationToken) : continuationToken
  return {
    entries: (logs ?? []) as readonly Json[],
    more: hasMoreData,
    token: typeof token === 'string' && token !== '' ? token : undefined,
  }
}

function badPage(why: string): Failure {
  return new Failure('retry', 'bad_body', `the answer is not a page of event logs: ${why}`)
}
