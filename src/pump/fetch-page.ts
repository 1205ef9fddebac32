import { cancelled, isFailure } from '../domain/failure.ts'
import type { Page } from '../domain/scan/page.ts'
import type { PageRequest } from '../ports/delivery.ts'
import { spanFacts, type PumpDeps, type TakeJob } from './session.ts'

export interface FetchedPage {
  readonly page: Page
  /** Excludes the time for which a page that was fetched ahead waited to be taken. */
  readonly tookMs: number
}

interface Fetching {
  readonly deps: Pick<PumpDeps, 'source' | 'clock' | 'tracer'>
  readonly job: Pick<TakeJob, 'stream' | 'priority'>
}

/** Fetches a page, in a span. `wanted`: of a page that is fetched ahead, when it is taken. */
export function fetchPage(
  { deps, job }: Fetching,
  request: PageRequest,
  signal: AbortSignal,
  wanted?: Promise<void>,
): Promise<FetchedPage> {
  const { source, clock, tracer } = deps
  const { address: server } = source
  const facts = { ...spanFacts(job), ...(server !== undefined && { server }) }
  return tracer.span('fetch', facts, async (note) => {
    let unwantedMs = 0
    const whenWanted = async () => {
      const beganMs = clock.monotonic()
      await wanted
      unwantedMs = clock.monotonic() - beganMs
      note({ unwantedMs })
    }
    const beganMs = clock.monotonic()
    const page = await source.fetchPage({ ...request, ...(wanted && { whenWanted }) }, signal)
    // A known page is not parsed for its count.
    if (page.hash === undefined || page.hash !== request.known) note({ events: page.content().events.length })
    return { page, tookMs: page.shared?.tookMs ?? clock.monotonic() - beganMs - unwantedMs }
  })
}

export type PageAhead = ReturnType<typeof fetchAhead>

/** Fetches a page while the one before it is delivered. Take it or discard it. */
export function fetchAhead(on: Fetching, request: PageRequest, signal: AbortSignal) {
  const abort = new AbortController()
  const wanted = Promise.withResolvers<void>()
  const either = AbortSignal.any([signal, abort.signal])
  const fetched = fetchPage(on, { ...request, ifRoom: true }, either, wanted.promise)
  // The request may fail before `take`, which rejects then: this prevents an unhandled rejection.
  fetched.catch(() => undefined)
  return {
    cursor: request.cursor,
    /** Lets the answer be parsed before it is taken, while the sink still works on the page before it. */
    want: wanted.resolve,
    /** It does not wait for memory: rejects with `no_room` then. */
    take(): Promise<FetchedPage> {
      wanted.resolve()
      return fetched
    },
    /** Aborts the request and frees its bytes. Resolves when the request has ended. */
    async discard(): Promise<void> {
      abort.abort(cancelled())
      wanted.resolve()
      try {
        const { page } = await fetched
        page.release()
      } catch (error) {
        if (!isFailure(error)) throw error
      }
    },
  }
}
