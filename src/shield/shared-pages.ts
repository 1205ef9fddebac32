import { cancelled, isFailure } from '../domain/failure.ts'
import { orAborted } from '../domain/promises.ts'
import type { Page } from '../domain/scan/page.ts'
import type { PageRequest, Source } from '../ports/delivery.ts'
import type { Clock } from '../ports/process.ts'

/** One request for a page, and its answer while it is kept. */
interface Shared {
  /** Of the request, by the steady clock. */
  readonly startedAt: number
  readonly answer: Promise<Answer>
  /** Rejects with `no_room` as soon as the request would have to wait for memory. */
  readonly atOnce: Promise<Page>
  /** It waits for memory of its own sink, and so for nobody else. */
  isWaiting: boolean
  /** A good answer has arrived; and a stream wants it to be parsed. */
  readonly arrived: PromiseWithResolvers<void>
  readonly wanted: PromiseWithResolvers<void>
  /** Ends the request once nobody waits for it. */
  readonly abort: AbortController
  waiting: number
  /** The stream that sent the request no longer waits for it. */
  isLeft: boolean
  landed?: Page
  readonly takenBy: Set<string | undefined>
  /** Gives the memory back for which it is kept. */
  forget: () => void
}

interface Answer {
  readonly page: Page
  readonly tookMs: number
}

/**
 * Gives streams of one zone and day one answer for the same page, so that several sinks ask the API as often as one.
 * Each request says which answers may serve it. An answer is kept until every sink has taken it or its memory is
 * needed; a failure goes only to those who waited for it. A stream whose sink has no room in memory asks for itself.
 */
export function sharePages(
  source: Source,
  { sinks, clock }: { readonly sinks: number; readonly clock: Clock },
): Source {
  if (sinks < 2) return source
  const pages = new Map<string, Shared>()

  async function fetchPage(request: PageRequest, signal: AbortSignal): Promise<Page> {
    if (request.requestedSince === undefined) return source.fetchPage(request, signal)
    const key = keyOf(request)
    const known = pages.get(key)
    const isOwn = known === undefined || !serves(known, request, clock.steady())
    const shared = isOwn ? send(key, request) : known
    let answer: Answer
    try {
      answer = await waitFor(shared, request, signal, isOwn)
    } catch (error) {
      // The sink of the request that it joined has no room; its own may have.
      if (isOwn || !isFailure(error, 'no_room') || request.ifRoom === true) throw error
      return await fetchPage(request, signal)
    }
    const page = isOwn ? answer.page : joined(answer, request)
    if (page === undefined) return await source.fetchPage(request, signal)
    shared.takenBy.add(request.sink)
    if (shared.takenBy.size >= sinks) shared.forget()
    return page
  }

  function send(key: string, request: PageRequest): Shared {
    const abort = new AbortController()
    const [arrived, wanted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const beganMs = clock.monotonic()
    let unwantedMs = 0
    const whenWanted = async () => {
      arrived.resolve()
      const arrivedMs = clock.monotonic()
      await wanted.promise
      unwantedMs = clock.monotonic() - arrivedMs
    }
    const ask = (ifRoom: boolean) => source.fetchPage({ ...request, ifRoom, whenWanted }, abort.signal)
    const atOnce = ask(true)
    const waited = atOnce.catch((error: unknown) => {
      if (request.ifRoom === true || !isFailure(error, 'no_room')) throw error
      shared.isWaiting = true
      return ask(false)
    })
    const answer = waited.then(
      (page) => {
        land(page)
        return { page, tookMs: clock.monotonic() - beganMs - unwantedMs }
      },
      (error: unknown) => {
        shared.forget()
        throw error
      },
    )
    // Nobody may wait for it any more.
    answer.catch(() => undefined)
    const shared: Shared = {
      startedAt: clock.steady(),
      answer,
      atOnce,
      isWaiting: false,
      arrived,
      wanted,
      abort,
      waiting: 0,
      isLeft: false,
      takenBy: new Set(),
      forget: () => {
        if (pages.get(key) === shared) pages.delete(key)
      },
    }
    const land = (page: Page) => {
      shared.landed = page
      const { forget } = shared
      let isForgotten = false
      const release = page.memory?.keep(() => shared.forget())
      shared.forget = () => {
        if (isForgotten) return
        isForgotten = true
        forget()
        release?.()
      }
      if (shared.isLeft) page.release()
      if (shared.waiting === 0 || pages.get(key) !== shared) shared.forget()
    }
    pages.get(key)?.forget()
    pages.set(key, shared)
    return shared
  }

  return { ...source, fetchPage }
}

async function waitFor(
  shared: Shared,
  { whenWanted }: PageRequest,
  signal: AbortSignal,
  isOwn: boolean,
): Promise<Answer> {
  shared.waiting++
  if (whenWanted === undefined) shared.wanted.resolve()
  else void shared.arrived.promise.then(whenWanted).then(shared.wanted.resolve)
  try {
    const mayWait = isOwn || shared.landed !== undefined
    return await orAborted(mayWait ? shared.answer : shared.atOnce.then(() => shared.answer), signal)
  } catch (error) {
    if (isOwn) {
      shared.isLeft = true
      shared.landed?.release()
    }
    throw error
  } finally {
    shared.waiting--
    if (shared.waiting === 0 && shared.landed === undefined) {
      shared.forget()
      shared.abort.abort(cancelled())
    }
  }
}

/** The page for another stream than the one that requested it; undefined where that one's sink has no room for it. */
function joined({ page, tookMs }: Answer, { sink }: PageRequest): Page | undefined {
  const release = page.memory === undefined ? () => undefined : page.memory.join(sink)
  // Not copied: its entries may not have been parsed.
  return release && (Object.assign(Object.create(page), { release, shared: { tookMs } }) as Page)
}

function keyOf({ zone, day, cursor, priority }: PageRequest): string {
  return JSON.stringify([zone.account, zone.id, day, priority, cursor])
}

/**
 * None joins a request that waits for memory: a sink that hangs would hold up the others, and two loads that hold pages
 * would wait for each other.
 */
function serves(
  { landed, startedAt, isWaiting }: Shared,
  { requestedSince = 0, freshForMs }: PageRequest,
  nowMs: number,
): boolean {
  if (landed === undefined) return startedAt >= requestedSince && !isWaiting
  const isFresh = freshForMs === undefined || nowMs - landed.requestedAt <= freshForMs
  return isFresh && landed.requestedAt >= requestedSince
}
