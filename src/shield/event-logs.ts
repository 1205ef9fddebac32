import type { Day } from '../domain/day.ts'
import { isObject, type Json } from '../domain/text/json.ts'
import { cancelled, Failure } from '../domain/failure.ts'
import { orAborted } from '../domain/promises.ts'
import { printable } from '../domain/text/terminal-text.ts'
import type { Cursor, Page } from '../domain/scan/page.ts'
import type { PageRequest, Source } from '../ports/delivery.ts'
import type { Clock } from '../ports/process.ts'
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
      return { ...answer, content: value, release: reservation.release }
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
  if (!isObject(body)) throw badPage(`it is ${typeof body === 'string' ? 'a text' : valueText(body)}`)
  const { logs, hasMoreData, continuationToken } = body
  if (typeof hasMoreData !== 'boolean') throw badPage(`hasMoreData is ${valueText(hasMoreData)}`)
  if (logs !== null && !Array.isArray(logs)) throw badPage(`logs is ${valueText(logs)}`)
  const isNumber = typeof continuationToken === 'number' && Number.isSafeInteger(continuationToken)
  const token = isNumber ? String(continuationToken) : continuationToken
  return {
    entries: (logs ?? []) as readonly Json[],
    more: hasMoreData,
    token: typeof token === 'string' && token !== '' ? token : undefined,
  }
}

/** `"false"`, `null`; of an object or list only what it is, since it may hold events. */
function valueText(value: unknown): string {
  if (value === undefined) return 'missing'
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object'
  return printable(JSON.stringify(value), 40)
}

function badPage(why: string): Failure {
  return new Failure('retry', 'bad_body', `the answer is not a page of event logs: ${why}`)
}

/** One request for a page, and its answer while it is kept. */
interface Shared {
  /** Of the request, by the steady clock. */
  readonly startedAt: number
  readonly answer: Promise<Page>
  tookMs?: number
  /** Of the stream that sent the request; by it others hold the page too. */
  readonly memory: Reservation
  /** A good answer has arrived; and a stream wants it to be parsed. */
  readonly arrived: PromiseWithResolvers<void>
  readonly wanted: PromiseWithResolvers<void>
  /** Ends the request once nobody waits for it. */
  readonly abort: AbortController
  waiting: number
  landed?: Page
  readonly takenBy: Set<string | undefined>
  /** No more streams take it, and the memory for which it is kept is given back. */
  readonly forget: () => void
}

/**
 * Gives streams of one zone and day one answer for the same page, so that several sinks ask the API as often as one.
 * Each request says which answers may serve it. An answer is kept until every sink has taken it or its memory is
 * needed; a failure goes only to those who waited for it.
 *
 * Whoever takes part has reserved memory for its own sink before, so that a shared request never waits for memory. A
 * stream whose sink has no room waits by itself, and holds nothing meanwhile.
 */
export function sharePages(
  source: EventLogSource,
  { sinks, clock }: { readonly sinks: number; readonly clock: Clock },
): Source {
  if (sinks < 2) return source
  const pages = new Map<string, Shared>()

  async function fetchPage(request: PageRequest, signal: AbortSignal): Promise<Page> {
    if (request.requestedSince === undefined) return source.fetchPage(request, signal)
    const { sink } = request
    const found = find(request)
    const joined = found?.memory.join(sink)
    if (found !== undefined && joined !== undefined) return take(found, joined, request, signal)
    const own = await source.reserve(request, signal)
    // Another may have sent the request meanwhile.
    const other = find(request)
    if (other === undefined) return take(send(request, own), own, request, signal)
    return take(other, other.memory.exchange(own, sink), request, signal)
  }

  function find(request: PageRequest): Shared | undefined {
    const known = pages.get(keyOf(request))
    return known !== undefined && serves(known, request, clock.steady()) ? known : undefined
  }

  function send(request: PageRequest, memory: Reservation): Shared {
    const key = keyOf(request)
    const abort = new AbortController()
    const [arrived, wanted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const [startedAt, beganMs] = [clock.steady(), clock.monotonic()]
    const whenWanted = () => {
      shared.tookMs = clock.monotonic() - beganMs
      arrived.resolve()
      return wanted.promise
    }
    let kept: Reservation | undefined
    const forget = () => {
      if (pages.get(key) === shared) pages.delete(key)
      kept?.release()
    }
    const answer = source.fetchPage({ ...request, whenWanted }, abort.signal, memory).then(
      (page) => {
        shared.landed = page
        shared.tookMs ??= clock.monotonic() - beganMs
        if (shared.waiting > 0 && pages.get(key) === shared) kept = memory.keep(forget)
        return page
      },
      (error: unknown) => {
        forget()
        throw error
      },
    )
    // Nobody may wait for it any more.
    answer.catch(() => undefined)
    const takenBy = new Set<string | undefined>()
    const shared: Shared = {
      startedAt,
      answer,
      memory,
      arrived,
      wanted,
      abort,
      waiting: 0,
      takenBy,
      forget,
    }
    pages.get(key)?.forget()
    pages.set(key, shared)
    return shared
  }

  /** `memory`: for the stream that takes it, given back where it does not. */
  async function take(
    shared: Shared,
    memory: Reservation,
    { sink, whenWanted }: PageRequest,
    signal: AbortSignal,
  ): Promise<Page> {
    shared.waiting++
    void shared.arrived.promise.then(whenWanted).then(shared.wanted.resolve)
    try {
      const page = await orAborted(shared.answer, signal)
      shared.takenBy.add(sink)
      if (shared.takenBy.size >= sinks) shared.forget()
      if (memory === shared.memory) return page
      return { ...page, release: memory.release, shared: { tookMs: shared.tookMs! } }
    } catch (error) {
      memory.release()
      throw error
    } finally {
      shared.waiting--
      if (shared.waiting === 0 && shared.landed === undefined) {
        shared.forget()
        shared.abort.abort(cancelled())
      }
    }
  }

  return { ...source, fetchPage }
}

function keyOf({ zone, day, cursor, priority }: PageRequest): string {
  return JSON.stringify([zone.account, zone.id, day, priority, cursor])
}

function serves(
  { landed, startedAt }: Shared,
  { requestedSince = 0, freshForMs }: PageRequest,
  nowMs: number,
): boolean {
  if (landed === undefined) return startedAt >= requestedSince
  const isFresh = freshForMs === undefined || nowMs - landed.requestedAt <= freshForMs
  return isFresh && landed.requestedAt >= requestedSince
}
