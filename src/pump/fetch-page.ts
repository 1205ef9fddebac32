import { cancelled, isFailure } from '../domain/failure.ts'
import type { Cursor, Page } from '../domain/scan/page.ts'
import type { PageRequest } from '../ports/delivery.ts'
import type { PumpDeps } from './session.ts'

export interface FetchedPage {
  readonly page: Page
  /** Excludes the time for which a page that was fetched ahead waited to be taken. */
  readonly tookMs: number
}

/** One page that is fetched while the page before it is delivered; discarded if that fails. */
export interface PageAhead {
  readonly cursor: Cursor | null
  /** Lets the answer be parsed before it is taken, while the sink still works on the page before it. */
  want(): void
  take(): Promise<FetchedPage>
  /** Aborts the request and frees its bytes. Resolves when the request has ended. No effect after `take`. */
  discard(): Promise<void>
}

type FetchDeps = Pick<PumpDeps, 'source' | 'clock' | 'tracer'>

/** Fetches a page, in a span. `wanted`: of a page that is fetched ahead, when it is taken. */
export function fetchPage(
  { source, clock, tracer }: FetchDeps,
  request: PageRequest,
  signal: AbortSignal,
  wanted?: Promise<void>,
): Promise<FetchedPage> {
  const { zone, day, sink, priority } = request
  const { address: server } = source
  const facts = {
    zone: zone.id,
    day,
    priority,
    ...(sink !== undefined && { sink }),
    ...(server !== undefined && { server }),
  }
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
    if (page.hash === undefined || page.hash !== request.known) note({ events: page.events.length })
    return { page, tookMs: page.shared?.tookMs ?? clock.monotonic() - beganMs - unwantedMs }
  })
}

/** Does not wait for memory: `take` rejects with `no_room` then. */
export function fetchAhead(deps: FetchDeps, request: PageRequest, signal: AbortSignal): PageAhead {
  const abort = new AbortController()
  const wanted = Promise.withResolvers<void>()
  const fetched = fetchPage(
    deps,
    { ...request, ifRoom: true },
    AbortSignal.any([signal, abort.signal]),
    wanted.promise,
  )
  // The request may fail before `take`, which rejects then: this prevents an unhandled rejection.
  fetched.catch(() => undefined)
  let taken = false
  return {
    cursor: request.cursor,
    want: wanted.resolve,
    take() {
      taken = true
      wanted.resolve()
      return fetched
    },
    async discard() {
      if (taken) return
      taken = true
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
