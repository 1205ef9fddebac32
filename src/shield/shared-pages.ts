import { cancelled } from '../domain/failure.ts'
import { orAborted } from '../domain/promises.ts'
import type { Page } from '../domain/scan/page.ts'
import type { PageRequest, Source } from '../ports/delivery.ts'
import type { Clock } from '../ports/process.ts'
import type { Reservation } from './client/page-budget.ts'
import type { EventLogSource } from './event-logs.ts'

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
      // Not copied: its entries may not have been parsed.
      const own = { release: memory.release, shared: { tookMs: shared.tookMs! } }
      return Object.assign(Object.create(page), own) as Page
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
