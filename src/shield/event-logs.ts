import type { Day } from '../domain/day.ts'
import { isObject, numberText, type Json } from '../domain/text/json.ts'
import { Failure } from '../domain/failure.ts'
import { printable } from '../domain/text/terminal-text.ts'
import type { Cursor, Page } from '../domain/scan/page.ts'
import type { PageRequest, Source } from '../ports/delivery.ts'
import { pathSegment, type ShieldClient } from './client/client.ts'
import type { Reservation } from './client/page-budget.ts'
import { eventsOf } from './entries/to-event.ts'
import { unexpectedIn } from './entries/unexpected.ts'
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
    unexpectedIn,
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
      const { value, drop, reservation, ...answer } = await client.send(call, signal, memory)
      const release = () => {
        reservation.release()
        drop()
      }
      return { ...answer, content: value, release }
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
  #entries = 0

  before(listing: string, cursor: Cursor | null): OwnIds | undefined {
    return cursor === null ? undefined : this.#ends.get(`${listing} ${cursor}`)
  }

  keep(listing: string, next: Cursor, end: OwnIds): void {
    const key = `${listing} ${next}`
    this.#drop(key)
    this.#ends.set(key, end)
    this.#entries += Math.max(leastOfAnEnd, end.size)
    for (const oldest of this.#ends.keys()) {
      if (this.#entries <= mostEntries) break
      this.#drop(oldest)
    }
  }

  #drop(key: string): void {
    const end = this.#ends.get(key)
    if (end !== undefined) this.#entries -= Math.max(leastOfAnEnd, end.size)
    this.#ends.delete(key)
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
  if (!isObject(body)) throw badPage(`it is ${heldText(body)}`)
  const { logs, hasMoreData, continuationToken } = body
  if (typeof hasMoreData !== 'boolean') throw badPage(`hasMoreData is ${valueText(hasMoreData)}`)
  if (logs !== null && !Array.isArray(logs)) throw badPage(`logs is ${heldText(logs)}`)
  const token = numberText(continuationToken) ?? continuationToken
  return {
    entries: (logs ?? []) as readonly Json[],
    more: hasMoreData,
    token: typeof token === 'string' && token !== '' ? token : undefined,
  }
}

/** Where events are expected: a text may be these. */
function heldText(value: unknown): string {
  return typeof value === 'string' ? 'a text' : valueText(value)
}

/** `"false"`, `null`; of an object or list only what it is, since it may hold events. */
function valueText(value: unknown): string {
  if (value === undefined) return 'missing'
  if (Array.isArray(value)) return 'a list'
  if (isObject(value)) return 'an object'
  return printable(JSON.stringify(value), 40)
}

function badPage(why: string): Failure {
  return new Failure('retry', 'bad_body', `the answer is not a page of event logs: ${why}`)
}
