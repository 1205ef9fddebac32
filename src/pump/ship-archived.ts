import type { Checkpoint } from '../domain/checkpoint.ts'
import type { Event } from '../domain/event.ts'
import { cancelled, Failure, isFailure } from '../domain/failure.ts'
import { firstPlannedDay } from '../domain/plan.ts'
import { mergeReceipts } from '../domain/receipts.ts'
import { countMinute, type MinuteCount } from '../domain/seen.ts'
import { isReadable } from '../domain/stream-state.ts'
import type { Stream, Zone } from '../domain/stream.ts'
import { noTrust } from '../domain/trust.ts'
import type { Sink } from '../ports.ts'
import { pagesOf, type ArchivedPiece, type Unreadable } from './archived-lines.ts'
import { beginAnew } from './begin-anew.ts'
import { withSink, withStream, type SinkTarget } from './hold-stream.ts'
import { isForgotten, shippedUnknown } from './index-dropped.ts'
import { lettersOf } from './page-commit.ts'
import { patiently } from './patiently.ts'
import { persistently } from './persistently.ts'
import { createSeenWindow } from './seen-window.ts'
import type { PumpDeps, PumpJob, Session } from './session.ts'

export interface ArchivedJob {
  readonly stream: Stream
  readonly zone: Zone
  readonly sink: Sink
  /** The day's files; read once, from the first line on, with each call. */
  readonly read: () => AsyncIterable<ArchivedPiece>
  /** Called after each page. */
  readonly progressed: (shipped: number, present: number) => void
}

/** What became of one stream. */
export interface Archived extends Readonly<Unreadable> {
  readonly shipped: number
  /** Delivered to the sink before. */
  readonly present: number
  /** Of those shipped: refused by the sink, and dead letters now. */
  readonly refused: number
  /** Why nothing was shipped; absent where that was tried. */
  readonly leftOut?: string
}

/** Between two pages, so that a running process gets at the stream. */
const betweenMs = 20

/**
 * Ships what a stream has not delivered of a day's files, page by page with the fence for each, so that a stop at any
 * moment leaves every event either delivered and known, or to be shipped by the next call. Sweeps of the stream are left
 * as they are. Throws the Failures of the sink and the store; what was shipped until then is known.
 */
export async function shipArchived(job: ArchivedJob, deps: PumpDeps, signal: AbortSignal): Promise<Archived> {
  const { stream, zone, sink } = job
  const held: PumpJob = { stream, zone, sink, lane: 'backfill', trust: noTrust, mayGoOn: () => false }
  const holding = <Result>(work: (session: Session, storeId: string) => Promise<Result>): Promise<Result> =>
    persistently(() => patiently(() => withStream(held, deps, work), deps, signal), deps, signal)

  const unreadable: Unreadable = { lines: 0, damagedParts: 0, where: [] }
  const total = { shipped: 0, present: 0, refused: 0 }
  const begun = await holding(begin)
  if (begun === 'forgotten') return compareForgotten(job, deps, unreadable)
  for await (const events of pagesOf(job.read(), unreadable)) {
    if (signal.aborted) throw cancelled(signal.reason)
    // What is known stays known while this is under way: whole pages of it need no fence.
    const unseen = await createSeenWindow(deps.store, stream).unseenOf(events)
    if (unseen.length > 0) {
      const page = await holding((session, storeId) =>
        withSink(session, storeId, signal, (target) => shipPage(session, target, events, signal)),
      )
      total.shipped += page.shipped
      total.refused += page.refused
      total.present += events.length - page.shipped
      await deps.clock.sleep(betweenMs, signal)
    } else total.present += events.length
    job.progressed(total.shipped, total.present)
  }
  await holding(end)
  return { ...total, ...unreadable }
}

/** From here on fingerprints of the stream stay, until `end`: also where this process does not get there. */
async function begin(session: Session): Promise<'begun' | 'forgotten'> {
  const { checkpoint, commit, job, deps } = session
  if (checkpoint().commit === 0) {
    await beginAnew(session, { isOver: !(await isPolled(session)), fromArchive: true })
    return 'begun'
  }
  if (checkpoint().fromArchive === undefined) await commit({ ...checkpoint(), fromArchive: true })
  if (!(await isForgotten(job.stream, deps.store))) return 'begun'
  await end(session)
  return 'forgotten'
}

async function end({ checkpoint, commit }: Session): Promise<void> {
  const { fromArchive, ...rest } = checkpoint()
  if (fromArchive !== undefined) await commit(rest)
}

/** Whether polls will come to the day, which then belongs to them. A day that nobody polls must not wait for a sweep. */
async function isPolled({ job, deps, policy, now }: Session): Promise<boolean> {
  const { zone, day, sink } = job.stream
  if (!isReadable(day, now(), policy)) return false
  const pair = (await deps.store.pairs()).find((each) => each.zone === zone && each.sink === sink)
  return day >= (pair?.firstDay ?? firstPlannedDay(now(), policy))
}

async function shipPage(
  session: Session,
  { open, seen }: SinkTarget,
  events: readonly Event[],
  signal: AbortSignal,
): Promise<{ shipped: number; refused: number }> {
  // Another one of the same day has ended meanwhile, and fingerprints may be gone since.
  if (
    session.checkpoint().fromArchive === undefined &&
    (await isForgotten(session.job.stream, session.deps.store))
  )
    throw new Failure('refuse', 'rejected', shippedUnknown)
  const unseen = await seen.unseenOf(events)
  if (unseen.length === 0) return { shipped: 0, refused: 0 }
  const delivery = await open.deliver(unseen, signal)
  const refusals = new Set(delivery.refusals.map(({ event }) => event))
  const taken = unseen.filter((event) => !refusals.has(event))
  const before = session.checkpoint()
  const kept: Checkpoint = {
    ...before,
    fromArchive: true,
    receipts: mergeReceipts(before.receipts, delivery.receipts),
    counters: { ...before.counters, delivered: before.counters.delivered + taken.length },
  }
  const refused = refusals.size
  const counters = { ...kept.counters, deadLetters: kept.counters.deadLetters + refused }
  const deadLetters = lettersOf(session, delivery.refusals, session.now())
  try {
    await session.commit({ ...kept, counters }, { seen: seen.pack(unseen), deadLetters })
  } catch (error) {
    // Where dead letters find no room what was taken is known all the same: it must not come again.
    if (isFailure(error, 'dead_letters_full') && taken.length > 0)
      await session.commit(kept, { seen: seen.pack(taken) })
    throw error
  }
  return { shipped: unseen.length, refused }
}

/** Of such a day counts and hashes are left: where they tell that all of it was shipped, nothing is to be done. */
async function compareForgotten(
  job: ArchivedJob,
  { store }: PumpDeps,
  unreadable: Unreadable,
): Promise<Archived> {
  const minutes = new Map<number, MinuteCount>()
  let present = 0
  for await (const events of pagesOf(job.read(), unreadable)) {
    present += events.length
    for (const [minute, packed] of createSeenWindow(store, job.stream).pack(events)) {
      const { count, hash } = countMinute(minute, packed)
      const before = minutes.get(minute) ?? { minute, count: 0, hash: 0n }
      minutes.set(minute, {
        minute,
        count: before.count + count,
        hash: BigInt.asUintN(64, before.hash + hash),
      })
    }
  }
  const ledger = new Map((await store.ledger(job.stream)).map((each) => [each.minute, each]))
  const isThere = [...minutes.values()].every(({ minute, count, hash }) => {
    const own = ledger.get(minute)
    return own?.count === count && own.hash === hash
  })
  if (isThere) return { shipped: 0, refused: 0, present, ...unreadable }
  return { shipped: 0, refused: 0, present: 0, ...unreadable, leftOut: shippedUnknown }
}
