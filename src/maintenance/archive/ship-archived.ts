import { committedLengths } from '../../domain/checkpoint.ts'
import { beginArchiveScan, endArchiveScan } from '../../domain/scan/progress.ts'
import { firstPlannedDay } from '../../domain/plan/plan.ts'
import { countMinute, type MinuteCount } from '../../domain/event/seen.ts'
import { isReadable } from '../../domain/plan/stream-state.ts'
import type { Stream, Zone } from '../../domain/stream.ts'
import type { AnySink } from '../../ports/delivery.ts'
import {
  ArchiveSource,
  nothingUnreadable,
  pagesOf,
  type ArchivedPiece,
  type Unreadable,
} from './archive-source.ts'
import { beginAnew, holdStream, shortJob } from '../hold-stream.ts'
import { shippedUnknown } from '../../pump/end-stream.ts'
import { pumpStream } from '../../pump/pump-stream.ts'
import { packSightings } from '../../pump/seen-window.ts'
import { serveRequest } from '../serve-request.ts'
import type { PumpDeps, Session } from '../../pump/session.ts'

interface ArchivedJob {
  /** Id of its read request: random, never used before. */
  readonly request: string
  readonly stream: Stream
  readonly zone: Zone
  readonly sink: AnySink
  /** The day's files; read from the first line on with each call. */
  readonly read: () => AsyncIterable<ArchivedPiece>
  /** Called after each page. */
  readonly progressed: (shipped: number, present: number) => void
}

/** The result for one stream. */
export interface Archived extends Readonly<Unreadable> {
  readonly shipped: number
  /** Delivered to the sink before. */
  readonly present: number
  /** Not wanted by the sink. */
  readonly filtered: number
  /** Too old for the destination. */
  readonly skipped: number
  /** Of those shipped: refused by the sink, and dead letters now. */
  readonly refused: number
  /** Why nothing was shipped; absent where events were. */
  readonly leftOut?: string
}

/**
 * Ships the events of a day's files that a stream has not delivered: runs the pump over another source, with a fence
 * for each page. Throws the Failures of the sink and the store; `progressed` has reported what was shipped until then.
 */
export async function shipArchived(job: ArchivedJob, deps: PumpDeps, signal: AbortSignal): Promise<Archived> {
  const { stream, zone, sink, progressed, request: id } = job
  const readRequest = { id, source: 'archive' } as const
  const held = shortJob({ stream, zone, sink, readRequest })
  const begun = await holdStream(held, deps, (session) => begin(session, job), signal)
  if (begun === 'index dropped') return compareCounts(job, deps)
  if (begun === 'files unknown')
    return { ...nothingShipped, present: 0, ...nothingUnreadable(), leftOut: filesUnknown }
  const source = new ArchiveSource(job.read, deps.clock)
  const tally = createTally()
  try {
    const { store, clock } = deps
    const pump = async (abort: AbortSignal) => {
      const failure = await pumpStream(held, { ...deps, source }, abort)
      const { archives, lastRequest } = (await deps.store.ledger.read(stream)) ?? {}
      tally.found(
        archives?.[readRequest.id]?.found ??
          (lastRequest?.id === readRequest.id ? (lastRequest.found ?? 0) : 0),
      )
      progressed(tally.shipped(), Math.max(0, source.events - tally.shipped()))
      return failure
    }
    const served = await serveRequest(
      stream,
      readRequest,
      { store, clock, pump, now: () => clock.now() },
      signal,
    )
    const { deadLetters: refused, filtered, skipped, outcome, reason } = served
    const found = tally.shipped()
    const shipped = found - filtered - skipped
    const leftOut = outcome === 'left_out' ? { leftOut: reason ?? shippedUnknown } : {}
    const present = source.events - found
    return { shipped, present, filtered, skipped, refused, ...source.unreadable, ...leftOut }
  } finally {
    await source.close()
  }
}

const nothingShipped = { shipped: 0, filtered: 0, skipped: 0, refused: 0 }
const filesUnknown =
  'the sink has files of the day, and the state has dropped which events they hold (state.keepDays): shipping it would write them twice'

/** Sums what a scan found, also where another command made it restart. */
function createTally() {
  let [shipped, last] = [0, 0]
  return {
    found(now: number) {
      shipped += now >= last ? now - last : now
      last = now
    },
    shipped: () => shipped,
  }
}

/** From here on the stream's fingerprints are kept until its scan has ended. */
async function begin(
  session: Session,
  { request, sink }: ArchivedJob,
): Promise<'begun' | 'index dropped' | 'files unknown'> {
  const { checkpoint, commit, deps, now } = session
  if (await areFilesUnknown(session, sink)) return 'files unknown'
  if (checkpoint().commit === 0) await beginAnew(session, { isOver: !(await isPolled(session)) })
  await commit(beginArchiveScan(checkpoint(), request, now()))
  if (!(await deps.store.ledger.isIndexDropped(session.job.stream))) return 'begun'
  await commit(endArchiveScan(checkpoint(), request))
  return 'index dropped'
}

/**
 * Whether the sink holds lines of a day of which the store has dropped the checkpoint: which events, nobody knows. A
 * replay of dead letters may have begun a new one since, which knows no more.
 */
async function areFilesUnknown(
  { checkpoint, job: { stream }, now, policy, storeId }: Session,
  sink: AnySink,
): Promise<boolean> {
  if (!('reconcile' in sink) || isReadable(stream.day, now(), policy)) return false
  const known = committedLengths(storeId, checkpoint())
  return sink.hasDropped(stream, checkpoint().commit > 0 ? known : { ...known, knownSinceMs: Infinity })
}

/** Whether polls read the day. If not, its new stream ends at once instead of waiting for a scan. */
async function isPolled({ job, deps, policy, now }: Session): Promise<boolean> {
  const { zone, day, sink } = job.stream
  if (!isReadable(day, now(), policy)) return false
  const route = (await deps.store.catalogue.routes()).find((each) => each.zone === zone && each.sink === sink)
  return day >= (route?.firstDay ?? firstPlannedDay(now(), policy))
}

/** After the fingerprints were dropped, counts and hashes remain: where they match, all was shipped already. */
async function compareCounts(job: ArchivedJob, { store }: PumpDeps): Promise<Archived> {
  const unreadable = nothingUnreadable()
  const minutes = new Map<number, MinuteCount>()
  let present = 0
  for await (const events of pagesOf(job.read(), unreadable)) {
    present += events.length
    for (const [minute, packed] of packSightings(events)) {
      const { count, hash } = countMinute(minute, packed)
      const before = minutes.get(minute) ?? { minute, count: 0, hash: 0n }
      const sum = BigInt.asUintN(64, before.hash + hash)
      minutes.set(minute, { minute, count: before.count + count, hash: sum })
    }
  }
  const ledger = new Map((await store.ledger.minutes(job.stream)).map((each) => [each.minute, each]))
  const isThere = [...minutes.values()].every(({ minute, count, hash }) => {
    const own = ledger.get(minute)
    return own?.count === count && own.hash === hash
  })
  const nothing = { ...nothingShipped, ...unreadable }
  return isThere ? { ...nothing, present } : { ...nothing, present: 0, leftOut: shippedUnknown }
}
