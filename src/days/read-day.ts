import type { Day } from '../domain/day.ts'
import type { Event } from '../domain/event/event.ts'
import { FingerprintSet } from '../domain/event/seen.ts'
import { Failure, isFailure } from '../domain/failure.ts'
import { factsOf, type Cursor, type Page, type PageContent } from '../domain/scan/page.ts'
import { shortRetryMs } from '../domain/retry.ts'
import type { Zone } from '../domain/stream.ts'
import { advanceScan, beginScan, guardText } from '../domain/scan/scan.ts'
import type { Clock } from '../ports/process.ts'
import type { PageRequest, Source } from '../ports/delivery.ts'
import type { ApiClock } from '../pump/api-clock.ts'

export interface ReadDeps {
  readonly source: Source
  readonly clock: Clock
  readonly apiClock: ApiClock
}

const gaveWayMs = 500

/**
 * All pages of a zone's day, from the first (or the one that `from` opens) to the last, for readers without fence and
 * store. A page is valid until the next one is requested. Waits and retries when the API asks for a wait, or fails after
 * the first page. Throws the Failures of a Source, and `scan_guarded` for a listing that does not end.
 */
export async function* readDay(
  { zone, day, from = null }: { readonly zone: Zone; readonly day: Day; readonly from?: Cursor | null },
  deps: ReadDeps,
  signal: AbortSignal,
): AsyncGenerator<PageContent> {
  const beganAtMs = deps.clock.now()
  const start = { beganAtMs, cursor: from, overlapStartMs: null, newestAtBeginMs: null }
  let scan = beginScan({ kind: 'full', ...start })
  for (;;) {
    const request = { zone, day, cursor: scan.cursor, scan, priority: 'backfill' } as const
    const page = await fetchWithRetries(request, deps, signal)
    const at = { cursor: scan.cursor, mark: [], nowMs: beganAtMs, unseen: [], tookMs: 0 }
    const content = page.content()
    const step = advanceScan(scan, factsOf(content, at), { order: 'unknown', polled: null })
    try {
      if (page.clockOffsetMs !== undefined)
        deps.apiClock.learn(zone.account, page.clockOffsetMs, page.connection)
      yield content
    } finally {
      page.release()
    }
    if (step.end === 'complete') return
    if (step.end !== 'none') {
      const why = `zone ${zone.id} on ${day}: ${guardText(step.end, step.scan)}`
      throw new Failure('refuse', 'scan_guarded', why)
    }
    scan = step.scan
  }
}

/** The same, page by page, with each event once: a listing that grows while it is read may show one on two pages. */
export async function* freshEvents(
  place: Parameters<typeof readDay>[0],
  deps: ReadDeps,
  signal: AbortSignal,
): AsyncGenerator<Event[]> {
  const shown = new FingerprintSet()
  for await (const { events } of readDay(place, deps, signal))
    yield events.filter(({ fingerprint }) => shown.add(fingerprint))
}

async function fetchWithRetries(
  request: PageRequest,
  { source, clock }: ReadDeps,
  signal: AbortSignal,
): Promise<Page> {
  let failures = 0
  for (;;) {
    try {
      return await source.fetchPage(request, signal)
    } catch (error) {
      // A failed first page is reported at once unless the API asks for a wait, and an expired cursor always.
      const isFinal =
        isFailure(error, 'cursor_expired') ||
        (request.cursor === null && isFailure(error) && error.kind === 'retry')
      // Live streams of the account come first; they end some time.
      const waitMs = isFailure(error, 'gave_way') ? gaveWayMs : shortRetryMs(error, ++failures, clock.now())
      if (signal.aborted || isFinal || waitMs === undefined) throw error
      await clock.sleep(waitMs, signal)
    }
  }
}
