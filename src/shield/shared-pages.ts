import { cancelled } from '../domain/failure.ts'
import { orAborted } from '../domain/promises.ts'
import type { Cursor, Page } from '../domain/scan/page.ts'
import type { PageRequest, Source } from '../ports/delivery.ts'
import type { Clock } from '../ports/process.ts'
import { memoryOf, type Reservation } from './client/page-budget.ts'
import type { EventLogSource } from './event-logs.ts'

/** One request for a page, and its answer. */
interface Shared {
  readonly request: PageRequest
  /** By the steady clock. */
  readonly startedAt: number
  readonly answer: Promise<Page>
  /** Of the stream that sent the request; by it others hold the page too, also once that one has released it. */
  readonly memory: Reservation
  /** Ends the request once nobody waits for it. */
  readonly abort: AbortController
  waiting: number
  /** Those that have the page and have not released it. */
  readers: number
  /** `release` gives the bytes of the answer back. */
  landed?: { readonly page: Page; readonly tookMs: number; readonly release: () => void }
  readonly takenBy: Set<string | undefined>
  /** While it is kept. */
  keptBytes: number
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
  const pages = new SharedPages(keptBytes)

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
    const known = pages.get(request)
    return known !== undefined && serves(known, request, clock.steady()) ? known : undefined
  }

  function send(request: PageRequest, memory: Reservation): Shared {
    const abort = new AbortController()
    const beganMs = clock.monotonic()
    const answer = source
      .fetchPage(request, abort.signal, memory)
      .then((page) => land(shared, page, clock.monotonic() - beganMs))
    // Nobody may wait for it any more.
    answer.catch(() => undefined)
    const startedAt = clock.steady()
    const takenBy = new Set<string | undefined>()
    const shared: Shared = {
      request,
      startedAt,
      answer,
      memory,
      abort,
      waiting: 0,
      readers: 0,
      takenBy,
      keptBytes: 0,
    }
    pages.add(shared)
    return shared
  }

  function land(shared: Shared, answer: Page, tookMs: number): Page {
    const content = () => {
      try {
        return answer.content()
      } catch (error) {
        pages.drop(shared)
        throw error
      }
    }
    const { release } = answer
    const page = { ...answer, content }
    shared.landed = { page, tookMs, release }
    if (shared.waiting > 0) pages.keep(shared, page, clock.steady())
    else pages.drop(shared)
    return page
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
      if (shared.takenBy.size >= sinks) pages.drop(shared)
      const own = { ...page, release: releaseOf(shared, memory) }
      return memory === shared.memory ? own : { ...own, shared: { tookMs: shared.landed!.tookMs } }
    } catch (error) {
      memory.release()
      throw error
    } finally {
      shared.waiting--
      if (shared.waiting === 0 && shared.landed === undefined) {
        pages.drop(shared)
        shared.abort.abort(cancelled())
      }
      pages.giveBack(shared)
    }
  }

  /** Of one that has the page. */
  function releaseOf(shared: Shared, memory: Reservation): () => void {
    let isHeld = true
    shared.readers++
    return () => {
      if (!isHeld) return
      isHeld = false
      shared.readers--
      memory.release()
      pages.giveBack(shared)
    }
  }

  return { ...source, fetchPage }
}

function serves(
  { landed, startedAt }: Shared,
  { requestedSince = 0, freshForMs }: PageRequest,
  nowMs: number,
): boolean {
  if (landed === undefined) return startedAt >= requestedSince
  return landed.page.requestedAt >= requestedSince && isFresh(landed.page, freshForMs, nowMs)
}

function isFresh({ requestedAt }: Page, freshForMs = Infinity, nowMs: number): boolean {
  return nowMs - requestedAt <= freshForMs
}

/** Of a page with a few entries, with all that belongs to it: the bound holds for the number of pages too. */
const leastBytes = 16_384

/** Of a zone, day and priority; the latest request for each page, the oldest first. */
interface Listing {
  keptBytes: number
  readonly pages: Map<Cursor | null, Shared>
}

/**
 * Pages that are under way, and kept ones up to a bound. The oldest page of the zone and day that holds most goes first:
 * one long backlog does not take the place of the pages that the sinks of all other zones share.
 */
class SharedPages {
  readonly #maxBytes: number
  readonly #listings = new Map<string, Listing>()
  /** Kept ones that serve for seconds only, the oldest first. */
  readonly #brief = new Set<Shared>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get(request: PageRequest): Shared | undefined {
    return this.#listings.get(listingOf(request))?.pages.get(request.cursor)
  }

  /** In place of an older one. */
  add(shared: Shared): void {
    const { request } = shared
    const older = this.get(request)
    if (older !== undefined) this.drop(older)
    const key = listingOf(request)
    const listing = this.#listings.get(key) ?? { keptBytes: 0, pages: new Map<Cursor | null, Shared>() }
    this.#listings.set(key, listing)
    listing.pages.set(request.cursor, shared)
  }

  /** Not where a later request has taken its place. */
  keep(shared: Shared, { bytes }: Page, nowMs: number): void {
    for (const brief of this.#brief) {
      if (isFresh(brief.landed!.page, brief.request.freshForMs, nowMs)) break
      this.drop(brief)
    }
    if (this.get(shared.request) !== shared) return
    if (shared.request.freshForMs !== undefined) this.#brief.add(shared)
    this.#count(shared, Math.max(leastBytes, memoryOf(bytes)))
    while (this.#bytes > this.#maxBytes) this.drop(this.#first())
  }

  /** Leaves another one that has its place. */
  drop(shared: Shared): void {
    if (this.get(shared.request) === shared) {
      this.#brief.delete(shared)
      const listing = this.#count(shared, 0)
      listing.pages.delete(shared.request.cursor)
      if (listing.pages.size === 0) this.#listings.delete(listingOf(shared.request))
    }
    this.giveBack(shared)
  }

  /** The bytes of an answer, once nobody reads it and nobody can take it any more. */
  giveBack(shared: Shared): void {
    const isRead = shared.waiting + shared.readers > 0 || this.get(shared.request) === shared
    if (!isRead) shared.landed?.release()
  }

  #count(shared: Shared, bytes: number): Listing {
    const listing = this.#listings.get(listingOf(shared.request))!
    listing.keptBytes += bytes - shared.keptBytes
    this.#bytes += bytes - shared.keptBytes
    shared.keptBytes = bytes
    return listing
  }

  #first(): Shared {
    let largest: Listing | undefined
    for (const listing of this.#listings.values())
      if (largest === undefined || listing.keptBytes > largest.keptBytes) largest = listing
    return largest!.pages.values().find(({ keptBytes }) => keptBytes > 0)!
  }
}

function listingOf({ zone, day, priority }: PageRequest): string {
  return `${zone.id}/${day}/${priority}/${zone.account}`
}
