import { cancelled, isFailure } from '../domain/failure.ts'
import type { Cursor, Page } from '../domain/scan/page.ts'
import type { Clock, Tracer } from '../ports/process.ts'
import type { PageRequest, Source } from '../ports/delivery.ts'
import type { SpanFacts } from '../domain/span.ts'

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

export async function fetchTimed(
  source: Source,
  clock: Clock,
  request: PageRequest,
  signal: AbortSignal,
): Promise<FetchedPage> {
  const began = clock.monotonic()
  const page = await source.fetchPage(request, signal)
  return { page, tookMs: clock.monotonic() - began }
}

export function fetchAhead(
  source: Source,
  clock: Clock,
  request: PageRequest,
  signal: AbortSignal,
): PageAhead {
  const abort = new AbortController()
  const wanted = Promise.withResolvers<void>()
  let unwantedMs = 0
  const whenWanted = async () => {
    const beganMs = clock.monotonic()
    await wanted.promise
    unwantedMs += clock.monotonic() - beganMs
  }
  const timed = fetchTimed(source, clock, { ...request, whenWanted }, AbortSignal.any([signal, abort.signal]))
  const fetched = timed.then(({ page, tookMs }) => ({ page, tookMs: tookMs - unwantedMs }))
  // The request may fail before `take`, which rejects then: this prevents an unhandled rejection.
  const settled = fetched.then(
    () => undefined,
    () => undefined,
  )
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
      await settled
      await fetched.then(
        ({ page }) => page.release(),
        (error: unknown) => {
          if (!isFailure(error)) throw error
        },
      )
    },
  }
}

/** A source that makes a span for each page. A page that is fetched ahead adds how long it waited to be taken. */
export function tracedSource(
  facts: SpanFacts,
  { source, clock, tracer }: { readonly source: Source; readonly clock: Clock; readonly tracer: Tracer },
): Source {
  const { address } = source
  const asked = address === undefined ? facts : { ...facts, server: address }
  return {
    fetchPage: (request, signal) =>
      tracer.span('fetch', asked, async (note) => {
        const page = await source.fetchPage(timedWait(request, clock, note), signal)
        note({ events: page.events.length })
        return page
      }),
  }
}

function timedWait(request: PageRequest, clock: Clock, note: (facts: SpanFacts) => void): PageRequest {
  const { whenWanted } = request
  if (whenWanted === undefined) return request
  return {
    ...request,
    async whenWanted() {
      const beganMs = clock.monotonic()
      await whenWanted()
      note({ unwantedMs: clock.monotonic() - beganMs })
    },
  }
}
