import type { SpanFacts } from '../domain/span.ts'
import type { Clock, Tracer } from '../ports/process.ts'
import type { PageRequest, Source } from '../ports/delivery.ts'

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
