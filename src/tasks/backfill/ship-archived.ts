import type { Checkpoint, Counters } from '../../domain/checkpoint.ts'
import type { Event } from '../../domain/event/event.ts'
import { cancelled } from '../../domain/failure.ts'
import type { Cursor } from '../../domain/scan/page.ts'
import { firstPlannedDay } from '../../domain/plan/plan.ts'
import { isBeyondAsking, isReadable } from '../../domain/plan/stream-state.ts'
import { isAnswered } from '../../domain/read-request.ts'
import { shortRetryMs } from '../../domain/retry.ts'
import type { AnySink, Source } from '../../ports/delivery.ts'
import type { Clock } from '../../ports/process.ts'
import { FoundEvents } from '../../days/found-events.ts'
import { holdStream, type HeldStream } from '../../days/hold-stream.ts'
import { shippedText } from '../../pump/end-stream.ts'
import { shipStream } from '../../pump/pump-stream.ts'
import { pagesOf, Unreadable, type ArchivedPiece } from '../../days/archived-events.ts'
import type { PumpDeps, Session } from '../../pump/session.ts'

/**
 * Reads a day's files of another sink page by page; the last page is empty. A cursor is a number of pages and valid for
 * this reading only. A page that is requested again is read again from the first line.
 */
function createArchiveSource(read: () => AsyncIterable<ArchivedPiece>, clock: Clock) {
  let unreadable = new Unreadable()
  let pages: AsyncGenerator<readonly Event[], undefined> | undefined
  let [number, events] = [0, 0]

  async function next(signal: AbortSignal): Promise<readonly Event[]> {
    if (signal.aborted) throw cancelled(signal.reason)
    const { value: page = [] } = await pages!.next()
    events += page.length
    number++
    return page
  }

  return {
    unreadable: () => unreadable,
    /** How many of them were read. */
    events: () => events,
    async fetchPage({ cursor }: { readonly cursor: Cursor | null }, signal: AbortSignal) {
      const requestedAt = clock.steady()
      const wanted = Number(cursor ?? 0)
      if (pages === undefined || wanted !== number) {
        await pages?.return(undefined)
        unreadable = new Unreadable()
        pages = pagesOf(read(), unreadable)
        number = events = 0
      }
      while (number < wanted) await next(signal)
      const page = await next(signal)
      const more = page.length > 0
      const following = more ? (String(number) as Cursor) : null
      const content = () => ({ events: page, more, next: following })
      return { content, bytes: 0, requestedAt, release: () => undefined }
    },
    close: () => pages?.return(undefined),
  } satisfies Source & Record<string, unknown>
}

export interface Archived {
  readonly shipped: number
  /** Delivered to the sink before. */
  readonly present: number
  readonly filtered: number
  readonly skipped: number
  /** Of those shipped: refused by the sink, and dead letters now. */
  readonly refused: number
  readonly unreadable: Unreadable
  /** Why nothing, or not all, was shipped; absent where all was. */
  readonly leftOut?: string
}

export function nothing(leftOut?: string): Archived {
  const none = { shipped: 0, present: 0, filtered: 0, skipped: 0, refused: 0, unreadable: new Unreadable() }
  return leftOut === undefined ? none : { ...none, leftOut }
}

export interface ArchivedJob extends HeldStream {
  /** Id of its read request: random, never used before. */
  readonly request: string
  readonly sink: AnySink
  /** The day's files; read from the first line on with each call. */
  readonly read: () => AsyncIterable<ArchivedPiece>
}

/**
 * Ships the events of a day's files that a stream has not delivered: runs the pump over another source, and holds the
 * stream from the first line to the last, its waits included. A process that takes it over, since this one was suspended,
 * makes it begin again at the first line, as does a failure: what is seen is skipped. Throws the Failures of the sink and
 * the store; what was shipped until then stays shipped.
 */
export async function shipArchived(job: ArchivedJob, deps: PumpDeps, signal: AbortSignal): Promise<Archived> {
  const { stream, zone, request: id } = job
  const before = await deps.store.ledger.read(stream)
  const source = createArchiveSource(job.read, deps.clock)
  const on = { stream, zone, readRequest: { id, source: 'archive' } as const, mayGoOn: () => true }
  try {
    const ship = (session: Session) => shipHeld(session, job, signal)
    const left = await holdStream(on, { ...deps, source }, ship, signal)
    if (left !== undefined) return left
    const { counters } = (await deps.store.ledger.read(stream))!
    const gained = (name: keyof Counters) => (counters[name] ?? 0) - (before?.counters[name] ?? 0)
    const [refused, filtered, skipped] = [gained('deadLetters'), gained('filtered'), gained('skipped')]
    const shipped = gained('delivered') + refused
    const present = Math.max(0, source.events() - shipped - filtered - skipped)
    return { shipped, present, filtered, skipped, refused, unreadable: source.unreadable() }
  } finally {
    await source.close()
  }
}

const stillRead = 'it is still read from the API, which ships what is missing'

/** Undefined once all is shipped; else what was found, or why nothing is shipped. */
async function shipHeld(session: Session, { sink, read }: ArchivedJob, signal: AbortSignal) {
  const { checkpoint, commit, deps, dropped, job, now } = session
  if (dropped === 'day') return nothing(shippedText(dropped, checkpoint()))
  if (dropped !== undefined) return await compareCounts(session, read)
  if (await isPolled(session)) return nothing(stillRead)
  await commit(begun(checkpoint(), now()))
  for (let failures = 0; !isAnswered(checkpoint(), job.readRequest!);) {
    if (signal.aborted) throw cancelled(signal.reason)
    const { delivered } = checkpoint().counters
    const failure = await shipStream(session, sink, undefined, signal)
    if (failure === undefined) continue
    failures = checkpoint().counters.delivered > delivered ? 1 : failures + 1
    // Failures name times by this host's clock.
    const waitMs = shortRetryMs(failure, failures, deps.clock.now())
    if (waitMs === undefined) throw failure
    await deps.clock.sleep(waitMs, signal)
  }
  return undefined
}

/**
 * Until all of it is shipped, the day's fingerprints are kept. One of which nothing else is known has ended, so that no
 * poll reads it.
 */
function begun(before: Checkpoint, nowMs: number): Checkpoint {
  const { archiveSinceMs = nowMs, commit } = before
  const ended = { as: 'complete', atMs: nowMs } as const
  return { ...before, archiveSinceMs, ...(commit === 0 && { ended }) }
}

/** A poll of the day would wait until all of it is shipped. */
async function isPolled({ checkpoint, job, deps, policy, now }: Session): Promise<boolean> {
  const { ended, commit } = checkpoint()
  const { zone, day, sink } = job.stream
  if (ended !== undefined || isBeyondAsking(day, now(), policy)) return false
  if (commit > 0 || !isReadable(day, now(), policy)) return commit > 0
  const route = (await deps.store.catalogue.routes()).find((each) => each.zone === zone && each.sink === sink)
  return day >= (route?.firstDay ?? firstPlannedDay(now(), policy))
}

/** After the fingerprints were dropped, counts and hashes remain: where they match, all was shipped already. */
async function compareCounts(session: Session, read: ArchivedJob['read']): Promise<Archived> {
  const { checkpoint, commit, deps, job } = session
  const unreadable = new Unreadable()
  const found = new FoundEvents()
  for await (const events of pagesOf(read(), unreadable)) for (const event of events) found.add(event)
  const minutes = await deps.store.ledger.minutes(job.stream)
  const ledger = new Map(minutes.map((each) => [each.minute, each]))
  const isThere = [...found.minutes].every(([minute, { fingerprints, hash }]) => {
    const own = ledger.get(minute)
    return own?.count === fingerprints.size && own.hash === hash
  })
  if (!isThere) return { ...nothing(shippedText('index', checkpoint())), unreadable }
  // An earlier try had shipped all but not said so.
  if (checkpoint().archiveSinceMs !== undefined) await commit({ ...checkpoint(), archiveSinceMs: undefined })
  return { ...nothing(), unreadable, present: found.count }
}
