import { cancelled } from '../domain/failure.ts'
import { orAborted } from '../domain/promises.ts'
import type { Page } from '../domain/scan/page.ts'
import type { PageRequest, Source } from '../ports/delivery.ts'
import type { Clock } from '../ports/process.ts'
import { memoryOf, type Reservation } from './client/page-budget.ts'
import type { EventLogSource } from './event-logs.ts'

/** One request for a page, and its answer. */
interface Shared {
  readonly key: string
  /** The zone, day and priority. */
  readonly listing: string
  /** Of the request, by the steady clock. */
  readonly startedAt: number
  readonly answer: Promise<Page>
  /** Of the stream that sent the request; by it others hold the page too, also once that one has released it. */
  readonly memory: Reservation
  /** Ends the request once nobody waits for it. */
  readonly abort: AbortController
  waiting: number
  /** `untilMs`: no later, by the steady clock, does the answer serve a stream that asks as the first one did. */
  landed?: { readonly page: Page; readonly tookMs: number; readonly untilMs: number }
  readonly takenBy: Set<string | undefined>
}

interface Sharing {
  readonly sinks: number
  /** For pages that are kept beside the memory of those who hold them. */
  readonly keptBytes: number
  readonly clock: Clock
}

/**
 * Gives streams of one zone and day one answer for the same page, so that several sinks ask the API as often as one.
 * Each request says which answers may serve it. An answer is kept until every sink has taken it or others take its
 * place; a failure goes only to those who waited for it.
 *
 * Whoever takes part has reserved memory for its own sink before, so that a shared request never waits for memory. A
 * stream whose sink has no room waits by itself, and holds nothing meanwhile.
 */
export function sharePages(source: EventLogSource, { sinks, keptBytes, clock }: Sharing): Source {
  if (sinks < 2) return source
  /** Under way, the latest request for each page. */
  const asked = new Map<string, Shared>()
  const kept = new KeptPages(keptBytes)

  async function fetchPage(request: PageRequest, signal: AbortSignal): Promise<Page> {
    if (request.requestedSince === undefined) return source.fetchPage(request, signal)
    const { sink } = request
    const found = find(request)
    const joined = found?.memory.join(sink)
    if (found !== undefined && joined !== undefined) return take(found, joined, sink, signal)
    const own = await source.reserve(request, signal)
    // Another may have sent the request meanwhile.
    const other = find(request)
    if (other === undefined) return take(send(request, own), own, sink, signal)
    return take(other, other.memory.exchange(own, sink), sink, signal)
  }

  function find(request: PageRequest): Shared | undefined {
    const key = keyOf(request)
    const known = asked.get(key) ?? kept.get(key)
    return known !== undefined && serves(known, request, clock.steady()) ? known : undefined
  }

  function send(request: PageRequest, memory: Reservation): Shared {
    const abort = new AbortController()
    const beganMs = clock.monotonic()
    const answer = source.fetchPage(request, abort.signal, memory).then(
      (page) => land(shared, page, request, clock.monotonic() - beganMs),
      (error: unknown) => {
        forget(shared)
        throw error
      },
    )
    // Nobody may wait for it any more.
    answer.catch(() => undefined)
    const shared: Shared = {
      key: keyOf(request),
      listing: listingOf(request),
      startedAt: clock.steady(),
      answer,
      memory,
      abort,
      waiting: 0,
      takenBy: new Set(),
    }
    const older = kept.get(shared.key)
    if (older !== undefined) kept.drop(older)
    asked.set(shared.key, shared)
    return shared
  }

  function land(shared: Shared, answer: Page, { freshForMs = Infinity }: PageRequest, tookMs: number): Page {
    const content = () => {
      try {
        return answer.content()
      } catch (error) {
        kept.drop(shared)
        throw error
      }
    }
    const page = { ...answer, content }
    shared.landed = { page, tookMs, untilMs: page.requestedAt + freshForMs }
    if (forget(shared) && shared.waiting > 0) kept.keep(shared, shared.landed, clock.steady())
    return page
  }

  /** False where a later request has taken its place. */
  function forget(shared: Shared): boolean {
    return asked.get(shared.key) === shared && asked.delete(shared.key)
  }

  /** `memory`: for the stream that takes it, given back where it does not. */
  async function take(
    shared: Shared,
    memory: Reservation,
    sink: string | undefined,
    signal: AbortSignal,
  ): Promise<Page> {
    shared.waiting++
    try {
      const page = await orAborted(shared.answer, signal)
      shared.takenBy.add(sink)
      if (shared.takenBy.size >= sinks) kept.drop(shared)
      if (memory === shared.memory) return page
      return { ...page, release: memory.release, shared: { tookMs: shared.landed!.tookMs } }
    } catch (error) {
      memory.release()
      throw error
    } finally {
      shared.waiting--
      if (shared.waiting === 0 && shared.landed === undefined) {
        forget(shared)
        shared.abort.abort(cancelled())
      }
    }
  }

  return { ...source, fetchPage }
}

function listingOf({ zone, day, priority }: PageRequest): string {
  return JSON.stringify([zone.account, zone.id, day, priority])
}

function keyOf(request: PageRequest): string {
  return `${listingOf(request)} ${request.cursor ?? ''}`
}

function serves(
  { landed, startedAt }: Shared,
  { requestedSince = 0, freshForMs }: PageRequest,
  nowMs: number,
): boolean {
  if (landed === undefined) return startedAt >= requestedSince
  const { requestedAt } = landed.page
  return requestedAt >= requestedSince && (freshForMs === undefined || nowMs - requestedAt <= freshForMs)
}

/** Of a page with a few entries, with all that belongs to it: the bound holds for the number of pages too. */
const leastBytes = 16_384

interface Listing {
  bytes: number
  /** The oldest first. */
  readonly pages: Map<Shared, number>
}

/**
 * Pages that have arrived. The oldest page of the zone and day that holds most goes first: one long backlog does not
 * take the place of the pages that the sinks of all other zones share.
 */
class KeptPages {
  readonly #maxBytes: number
  readonly #pages = new Map<string, Shared>()
  readonly #listings = new Map<string, Listing>()
  /** First pages, which serve for seconds only: the oldest first. */
  readonly #brief = new Map<Shared, number>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get(key: string): Shared | undefined {
    return this.#pages.get(key)
  }

  keep(shared: Shared, { page, untilMs }: NonNullable<Shared['landed']>, nowMs: number): void {
    for (const [brief, endMs] of this.#brief) {
      if (endMs >= nowMs) break
      this.drop(brief)
    }
    if (untilMs < Infinity) this.#brief.set(shared, untilMs)
    const bytes = Math.max(leastBytes, memoryOf(page.bytes))
    const listing = this.#listings.get(shared.listing) ?? { bytes: 0, pages: new Map<Shared, number>() }
    this.#listings.set(shared.listing, listing)
    this.#pages.set(shared.key, shared)
    listing.pages.set(shared, bytes)
    listing.bytes += bytes
    this.#bytes += bytes
    while (this.#bytes > this.#maxBytes) this.drop(this.#first())
  }

  /** Nothing where it is not kept. */
  drop(shared: Shared): void {
    const listing = this.#listings.get(shared.listing)
    const bytes = listing?.pages.get(shared)
    if (listing === undefined || bytes === undefined) return
    this.#pages.delete(shared.key)
    this.#brief.delete(shared)
    listing.pages.delete(shared)
    listing.bytes -= bytes
    this.#bytes -= bytes
    if (listing.pages.size === 0) this.#listings.delete(shared.listing)
  }

  #first(): Shared {
    let largest: Listing | undefined
    for (const listing of this.#listings.values())
      if (largest === undefined || listing.bytes > largest.bytes) largest = listing
    const [oldest] = largest!.pages.keys()
    return oldest!
  }
}
