import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import { endOf, startOf, type Day } from '../../../src/domain/day.ts'
import { streamKey, type Gap, type Stream } from '../../../src/domain/stream.ts'
import { sumOf } from '../../../src/domain/text/terminal-text.ts'
import { isExact, isExcused, missingOf, shippedLines } from './check-stream.ts'
import { filesName, lakeName } from './entry.ts'
import { isUnwritable } from './model-bucket.ts'
import { firstDay, type Run } from './run.ts'

/** At the end of a run every day is whole, or says what is missing. */
export async function verdict(run: Run): Promise<void> {
  const store = run.keeper.store
  // A day that was read after all has lost nothing.
  const gaps = (await store.catalogue.gaps()).filter(({ readAt }) => readAt === undefined)
  const routes = await store.catalogue.routes()
  const isPlanned = ({ zone, day, sink }: Stream) =>
    routes.some((route) => route.zone === zone && route.sink === sink && route.firstDay <= day)
  for (const zone of run.zones) {
    for (const sink of run.sinks) {
      for (const day of run.days) {
        const stream: Stream = { zone: zone.id, day, sink }
        const checkpoint = run.keeper.pruned.get(streamKey(stream)) ?? (await store.ledger.read(stream))
        const own = gaps.filter((gap) => isOf(gap, stream))
        const isArchived = checkpoint?.ended?.as === 'complete' && checkpoint.lastFull === undefined
        // Of days before a sink was configured nothing is promised.
        const isOfNobody = isAway(run, sink) && !isPlanned(stream)
        if ((checkpoint === undefined || isArchived) && !isOfNobody) judgeUnread(stream, own)
        if (checkpoint !== undefined) await judge(run, checkpoint, own, isOfNobody)
        if (sink === filesName) judgeFollower(run, stream)
      }
    }
  }
  await judgeDeadLetters(run)
}

/** Whether the sink was not configured at some time. */
function isAway({ options, sinks }: Run, sink: string): boolean {
  return options.away !== null && sinks.length > 1 && sink === sinks.at(-1)
}

/** Whether the sink that was not configured for some time left on that day, and not near its ends. */
function isLeftDay({ options: { away } }: Run, day: Day): boolean {
  const leftMs = startOf(firstDay) + (away?.afterMs ?? 0)
  return leftMs - 3_600_000 > startOf(day) && leftMs + 3_600_000 < endOf(day)
}

function isOf(gap: Gap, { zone, day, sink }: Stream): boolean {
  return gap.zone === zone && gap.day === day && gap.sink === sink
}

function judgeUnread(stream: Stream, gaps: readonly Gap[]): void {
  const whole = gaps.some(({ from, to }) => from <= startOf(stream.day) && to >= endOf(stream.day))
  if (!whole) throw new Error(`${streamKey(stream)}: never read, and no gap says so`)
}

async function judge(
  run: Run,
  checkpoint: Checkpoint,
  gaps: readonly Gap[],
  isOfNobody: boolean,
): Promise<void> {
  const { stream, ended, lastFull, gone } = checkpoint
  const name = streamKey(stream)
  const shipped = await shippedLines(run, checkpoint)
  const isRead = lastFull !== undefined && lastFull.beganAtMs >= endOf(stream.day)
  const { dates, skewMs } = run.options.world
  const areClocksRight = dates === 'right' && run.options.clockSteps.length === 0
  if (ended === undefined && isAway(run, stream.sink) && run.keeper.pruned.has(name)) {
    // The state has dropped it while the sink was not configured: the rest of the day that it left is told.
    if (isLeftDay(run, stream.day) && areClocksRight && gaps.length === 0)
      throw new Error(`${name}: left in the middle of the day, and no gap says so`)
    return
  }
  // A process that began while the wall clock was behind ends days later, where the API's clock is another one as well.
  const { clockSteps } = run.options
  const lastingMs = sumOf(
    clockSteps.filter(({ forMs }) => forMs === null),
    'byMs',
  )
  const isBehind = clockSteps.some(({ byMs }) => byMs < 0) && Math.abs(skewMs - lastingMs) > 600_000
  // So does a day that was only backfilled.
  if (ended === undefined && dates !== 'none' && !isOfNobody && !isBehind)
    throw new Error(`${name}: never ended`)
  // A day from before its sink was configured is read for backfills only: what the API lists later is not awaited.
  const awaitedMs = isOfNobody ? lastFull?.beganAtMs : undefined
  const missing = missingOf(run, stream, shipped, awaitedMs).filter((entry) => !isExcused(run, stream, entry))
  // The API did not list the day any more when it was to be shipped once more; what an archive had of it may be there since.
  const isResent =
    run.options.resendShare > 0 &&
    (checkpoint.lastRequest?.outcome === 'left_out' || run.archives.shipped.has(name))
  if (ended?.as === 'complete' && lastFull !== undefined && !isResent && missing.length > 0)
    throw new Error(`${name}: complete, and ${missing.length} events are missing`)
  // What the API has removed for good leaves a gap, whatever is read later.
  if (ended?.as === 'complete' && lastFull !== undefined && gone === undefined && gaps.length > 0)
    throw new Error(`${name}: complete, and yet a gap`)
  // What is read while the time is in doubt, after the day has expired or before it by a clock that is ahead, closes none.
  const isDoubted =
    isRead &&
    lastFull.beganAtMs > (ended?.atMs ?? Infinity) &&
    !(areClocksRight && Math.abs(skewMs) < 600_000)
  // A backfill under a wrong Date puts the time of the last reading before the end of the day.
  const isMisdated = run.options.backfillShare > 0 && dates !== 'right' && !isRead
  // Once the state has dropped a day that could not be shipped once more, nothing tells that it was read before.
  if (
    ended?.as === 'expired' &&
    gone === undefined &&
    !isOfNobody &&
    !isDoubted &&
    !isMisdated &&
    !isResent &&
    isRead !== (gaps.length === 0)
  )
    throw new Error(
      `${name}: expired ${isRead ? 'after' : 'before'} its end was read, with ${gaps.length} gaps`,
    )
  // A host that is hours behind ends no day before the API no longer lists it.
  const isQuiet =
    run.troubles.count === 0 &&
    areClocksRight &&
    run.options.setBackShare === 0 &&
    run.options.faults.failover === 0 &&
    !isAway(run, stream.sink) &&
    skewMs <= 2 * 3_600_000
  if (isQuiet && ended?.as !== 'complete') throw new Error(`${name}: ${ended?.as} although nothing was wrong`)
  if (isExact(stream.sink)) judgeExtra(run, stream, shipped)
  const isKept = !run.keeper.pruned.has(streamKey(stream))
  if (isExact(stream.sink) && isKept) await judgeLedger(run, stream, shipped)
}

/** What the ledger counts is what stands in the files or objects, and the dead letters. */
async function judgeLedger(run: Run, stream: Stream, shipped: ReadonlySet<string>): Promise<void> {
  let counted = 0
  for (const { count } of await run.keeper.store.ledger.minutes(stream)) counted += count
  if (counted !== shipped.size)
    throw new Error(`${streamKey(stream)}: the ledger counts ${counted} of ${shipped.size} lines`)
}

function judgeExtra(run: Run, stream: Stream, shipped: ReadonlySet<string>): void {
  const all = run.world.visible(stream.zone, stream.day, Infinity)
  const none = new Set<string>()
  const known = new Set(missingOf(run, stream, none, Infinity).map(({ key }) => key))
  // The first of two entries that share id and time may be shipped once more, with an id of its own.
  const most = all.length + all.filter(({ content }) => content === 'one').length
  if (known.size !== all.length || shipped.size > most)
    throw new Error(`${streamKey(stream)}: ${shipped.size} lines for ${all.length} events`)
}

/** Who follows the parts reads each line, also after a part got shorter while it was away. */
function judgeFollower(run: Run, stream: Stream): void {
  const unread = run.files.unfollowed(stream)
  if (unread.length > 0) throw new Error(`${streamKey(stream)}: a follower never reads ${unread.join(', ')}`)
}

/** Nothing is a dead letter but what the destination never takes. */
async function judgeDeadLetters(run: Run): Promise<void> {
  for (const deadLetter of await run.keeper.store.deadLetters.list()) {
    const { id, sink } = deadLetter
    if (sink === lakeName ? !isUnwritable(deadLetter) : !run.receiver.refusesId(id))
      throw new Error(`${id} is a dead letter for nothing`)
  }
}
