import { cancelled, isFailure } from '../domain/failure.ts'
import type { Page } from '../domain/scan/page.ts'
import type { PageRequest } from '../ports/delivery.ts'
import { spanFacts, type PumpDeps, type TakeJob } from './session.ts'

export interface FetchedPage {
  readonly page: Page
  readonly tookMs: number
}

interface Fetching {
  readonly deps: Pick<PumpDeps, 'source' | 'clock' | 'tracer'>
  readonly job: Pick<TakeJob, 'stream' | 'priority'>
}

/** Fetches a page, in a span. */
export function fetchPage(
  { deps, job }: Fetching,
  request: PageRequest,
  signal: AbortSignal,
): Promise<FetchedPage> {
  const { source, clock, tracer } = deps
  const { address: server } = source
  const facts = { ...spanFacts(job), ...(server !== undefined && { server }) }
  return tracer.span('fetch', facts, async (note) => {
    const beganMs = clock.monotonic()
    const page = await source.fetchPage(request, signal)
    const tookMs = page.shared?.tookMs ?? clock.monotonic() - beganMs
    const events = request.ahead === true ? undefined : parse(page, request)
    if (events !== undefined) note({ events })
    return { page, tookMs }
  })
}

/** A known page is not parsed for its count. One that cannot be parsed is released. */
function parse(page: Page, { known }: PageRequest): number | undefined {
  if (page.hash !== undefined && page.hash === known) return undefined
  try {
    return page.content().events.length
  } catch (error) {
    page.release()
    throw error
  }
}

export type PageAhead = ReturnType<typeof fetchAhead>

/** Fetches a page while the one before it is delivered. Take it or discard it. */
export function fetchAhead(on: Fetching, request: PageRequest, signal: AbortSignal) {
  const abort = new AbortController()
  const own = { ...request, ifRoom: true }
  const fetched = fetchPage(on, { ...own, ahead: true }, AbortSignal.any([signal, abort.signal]))
  // The request may fail before `take`, which rejects then: this prevents an unhandled rejection.
  fetched.catch(() => undefined)
  const parsed = async (): Promise<FetchedPage> => {
    const found = await fetched
    parse(found.page, request)
    return found
  }
  return {
    cursor: request.cursor,
    /** Lets the answer be parsed before it is taken, while the sink still works on the page before it. */
    want: () => void parsed().catch(() => undefined),
    /** An answer that is no page is requested again. Does not wait for memory: rejects with `no_room` then. */
    async take(): Promise<FetchedPage> {
      await fetched
      try {
        return await parsed()
      } catch (error) {
        if (!isFailure(error)) throw error
        return fetchPage(on, own, signal)
      }
    },
    /** Aborts the request and frees its bytes. Resolves when the request has ended. */
    async discard(): Promise<void> {
      abort.abort(cancelled())
      try {
        const { page } = await fetched
        page.release()
      } catch (error) {
        if (!isFailure(error)) throw error
      }
    },
  }
}
