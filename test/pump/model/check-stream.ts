import { hasShipped, type Checkpoint } from '../../../src/domain/checkpoint.ts'
import { caughtUpOf } from '../../../src/domain/plan/lag.ts'
import { isShrunkenAgain } from '../../../src/domain/scan/progress.ts'
import { dayMs, endOf, startOf } from '../../../src/domain/day.ts'
import { minuteOf, unpackFingerprints } from '../../../src/domain/event/seen.ts'
import { fingerprintOf } from '../../../src/domain/event/fingerprint.ts'
import { streamKey, type Stream } from '../../../src/domain/stream.ts'
import { filesName, identityOf, lakeName, lineOf, ownLineOf, type Entry } from './entry.ts'
import type { Run } from './run.ts'

/**
 * What a stream has shipped for good: lines that are committed, dead letters of what has no line, and what the
 * destination has or never will take.
 */
export async function shippedLines(run: Run, checkpoint: Checkpoint): Promise<Set<string>> {
  const { stream, committed, objects } = checkpoint
  if (!isExact(stream.sink)) return new Set(run.receiver.received(stream))
  const lines =
    stream.sink === filesName
      ? run.files.committed(stream, committed)
      : [
          ...run.bucket
            .linesOf(stream)
            .slice(0, objects?.last ?? 0)
            .flat(),
          ...(await run.keeper.store.deadLetters.keys(stream)).map(lineOf),
        ]
  const unique = new Set(lines)
  if (unique.size !== lines.length) throw new Error(`${streamKey(stream)}: a line stands twice`)
  return unique
}

/** By so much the clocks of API and host may differ and count as the same: a scan may begin after its own answer. */
const ignoredOffsetMs = 2_000

/** Each event once, whatever happens. */
export function isExact(sink: string): boolean {
  return sink === filesName || sink === lakeName
}

export function missingOf(run: Run, stream: Stream, shipped: ReadonlySet<string>, atMs?: number): Entry[] {
  return run.world
    .visible(stream.zone, stream.day, atMs)
    .filter((entry) => !isShipped(run, stream, entry, { shipped, atMs }))
    .filter((entry) => isExact(stream.sink) || !run.receiver.refusesId(entry.id))
}

/**
 * An entry that another one shares id and time with is shipped under its own id, or under the one that they share, which
 * stands for one of them. Where the listing has them next to each other, a scan has told them apart.
 */
function isShipped(
  { world }: Run,
  { zone, day, sink }: Stream,
  entry: Entry,
  { shipped, atMs }: { readonly shipped: ReadonlySet<string>; readonly atMs: number | undefined },
): boolean {
  const isSharedShipped = shipped.has(lineOf(identityOf(entry)))
  if (entry.content === undefined) return isSharedShipped
  // The destination refuses by the id that an event is shipped with.
  if (!isExact(sink) || shipped.has(ownLineOf(entry))) return true
  const { order } = world.options
  if (order !== 'oldest-first' && order !== 'newest-first') return isSharedShipped
  const both = world
    .visible(zone, day, atMs)
    .filter(({ id, timeMs }) => id === entry.id && timeMs === entry.timeMs)
  return isSharedShipped && both.filter((each) => shipped.has(ownLineOf(each))).length + 1 >= both.length
}

/** After each pump: what was promised of a stream holds. */
export async function checkStream(
  run: Run,
  stream: Stream,
  before: Pick<Checkpoint, 'lastFull' | 'resend'> | undefined,
): Promise<void> {
  const checkpoint = await run.keeper.store.ledger.read(stream)
  if (checkpoint === undefined) return
  const pruned = run.keeper.pruned.get(streamKey(stream))
  if (pruned !== undefined && hasShipped(pruned)) {
    const { committed, counters, ended } = checkpoint
    if (committed.length + counters.delivered > 0 || ended === undefined)
      throw new Error(`${streamKey(stream)}: pumped anew after it was pruned`)
    return
  }
  // Nothing of it was shipped: a backfill may read it.
  run.keeper.pruned.delete(streamKey(stream))
  const shipped = await shippedLines(run, checkpoint)
  noteReadRequest(run, checkpoint)
  if (!run.troubles.everShrinks && isShrunkenAgain(checkpoint))
    throw new Error(`${streamKey(stream)}: a false alarm: ${JSON.stringify(checkpoint.shrunken)}`)
  const known = run.troubles.everShrinks ? await noteKnown(run, stream) : []
  const full = checkpoint.lastFull
  const fullBefore = before?.lastFull?.beganAtMs
  if (full !== undefined && full.beganAtMs !== fullBefore) {
    const missing = missingOf(run, stream, shipped, full.beganAtMs)
    // Of a day that was read to its end, the API need not list what is older than the readable days.
    const isRead = fullBefore !== undefined && fullBefore >= endOf(stream.day)
    const sinceMs = isRead ? full.beganAtMs - (run.policy.readableDays - 1) * dayMs : -Infinity
    const due = known.filter(({ timeMs = Infinity }) => timeMs >= sinceMs)
    // While a day is shipped once more only numbers are known: new events fill the place of as many hidden ones.
    const beganAtMs = full.beganAtMs - ignoredOffsetMs
    // What polls have learned while it went on may be met in place of as many hidden ones.
    const learned = known.filter((event) => event.sinceMs >= beganAtMs).length
    const isNoticed = before?.resend === undefined && isHidden(run, checkpoint, due, beganAtMs, learned)
    const unexcused = missing.filter((entry) => isNoticed || !excuse(run, stream, entry, beganAtMs))
    if (unexcused.length > 0 && !areDatesWrong(run))
      throw new Error(`${streamKey(stream)}: a complete full scan missed ${unexcused.length}`)
  }
  // What a resend has still to ship was shipped before.
  if (checkpoint.resend === undefined) checkLag(run, checkpoint, shipped, known)
}

/** An event of which the stream knows, by the name of its entry. */
export interface Known {
  readonly line: string
  readonly timeMs: number | undefined
  readonly sinceMs: number
}

/** The events that the store holds, in the order of the listing; entries that may share an id and time are left out. */
export async function noteKnown(run: Run, stream: Stream): Promise<readonly Known[]> {
  const { archives, world, keeper, known: knownOf } = run
  const entries = world.visible(stream.zone, stream.day).filter(({ content }) => content === undefined)
  const minutes = [...new Set(entries.map(({ timeMs }) => minuteOf(timeMs)))]
  const seen = await keeper.store.ledger.loadSeen(stream, minutes)
  const held = new Set([...seen.values()].flatMap(unpackFingerprints))
  const before = new Map(knownOf.get(streamKey(stream))?.map(({ line, sinceMs }) => [line, sinceMs]))
  const known = world.inOrder(entries).flatMap((entry) => {
    const identity = identityOf(entry)
    const line = lineOf(identity)
    // What an archive has shipped was not read from the API: a scan need not meet it.
    if (!held.has(fingerprintOf(identity)) || archives.lines.has(`${streamKey(stream)} ${line}`)) return []
    return { line, timeMs: entry.timeMs, sinceMs: before.get(line) ?? world.now() }
  })
  knownOf.set(streamKey(stream), known)
  return known
}

/**
 * Whether answers since then have listed fewer of the events that were known by then. How many the API has removed for
 * good is known, but not which.
 */
function isHidden(
  { world }: Run,
  { stream, gone = 0 }: Checkpoint,
  known: readonly Known[],
  sinceMs: number,
  learned = 0,
): boolean {
  const { listedAtMs } = world.noted(stream.zone, stream.day)
  const hidden = known.filter(
    (event) => event.sinceMs < sinceMs && (listedAtMs.get(event.line) ?? 0) < sinceMs,
  )
  return hidden.length > gone + learned
}

/** What an answer has hidden that nobody knew of yet is found only once it is listed. False if none has hidden it. */
function excuse({ world, excused }: Run, stream: Stream, entry: Entry, sinceMs: number): boolean {
  const { hiddenAtMs } = world.noted(stream.zone, stream.day)
  const isExcused = (hiddenAtMs.get(entry.key) ?? 0) >= sinceMs
  if (isExcused) excused.add(`${streamKey(stream)} ${entry.key}`)
  return isExcused
}

export function isExcused({ excused }: Run, stream: Stream, { key }: Entry): boolean {
  return excused.has(`${streamKey(stream)} ${key}`)
}

/**
 * Lag is honest: what had appeared when the stream was caught up is shipped, apart from what came later than the
 * overlap covers. Of a listing without order, incremental scans promise nothing.
 */
function checkLag(
  run: Run,
  checkpoint: Checkpoint,
  shipped: ReadonlySet<string>,
  known: readonly Known[],
): void {
  const { world, overlapMs, oddShare } = run.options
  if (checkpoint.ended !== undefined || oddShare > 0 || areDatesWrong(run)) return
  if (world.order === 'unordered' || world.order === 'turning') return
  const { stream } = checkpoint
  const caughtUpMs = caughtUpOf({ stream, checkpoint }, run.policy)
  if (caughtUpMs <= startOf(stream.day)) return
  const unread = missingOf(run, stream, shipped, caughtUpMs).filter(
    ({ arrivesAtMs, sortMs }) => arrivesAtMs - sortMs <= overlapMs,
  )
  // Where they are hidden a poll notices it: those on the page that has the newest, which is the last one or a whole one.
  const noticed = world.order.includes('newest') ? world.pageSize : 1
  const newest = known.filter(({ sinceMs }) => sinceMs < caughtUpMs).slice(-noticed)
  const isNoticed = isHidden(run, checkpoint, newest, caughtUpMs - ignoredOffsetMs)
  const unexcused = unread.filter(
    (entry) =>
      !isExcused(run, stream, entry) && (isNoticed || !excuse(run, stream, entry, entry.arrivesAtMs)),
  )
  if (unexcused.length > 0)
    throw new Error(
      `${streamKey(stream)}: caught up, they say, but ${unexcused.length} events are not shipped`,
    )
}

/** Answers tell wrong times: what counts from them is off until they are right again. */
function areDatesWrong({ options: { world } }: Run): boolean {
  return world.dates === 'sometimes wrong' || world.dates === 'wrong in a row'
}

function noteReadRequest({ readRequests }: Run, { stream, lastFull, ended }: Checkpoint): void {
  const key = streamKey(stream)
  if (ended?.as === 'expired' || lastFull?.readRequest === readRequests.get(key)) readRequests.delete(key)
}
