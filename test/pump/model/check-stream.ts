import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import { caughtUpOf } from '../../../src/domain/plan/lag.ts'
import { startOf } from '../../../src/domain/day.ts'
import { streamKey, type Stream } from '../../../src/domain/stream.ts'
import { filesName, identityOf, lakeName, lineOf, ownLineOf, type Entry } from './entry.ts'
import type { Run } from './run.ts'

/**
 * What a stream has shipped for good: lines that are committed, dead letters of what has no line, and what the
 * destination has or never will take.
 */
export async function shippedLines(run: Run, checkpoint: Checkpoint): Promise<Set<string>> {
  const { stream, committed, objectBytes = [] } = checkpoint
  if (!isExact(stream.sink)) return new Set(run.receiver.received(stream))
  const lines =
    stream.sink === filesName
      ? run.files.committed(stream, committed)
      : [
          ...run.bucket.linesOf(stream).slice(0, objectBytes.length).flat(),
          ...(await run.keeper.store.deadLetters.keys(stream)).map(lineOf),
        ]
  const unique = new Set(lines)
  if (unique.size !== lines.length) throw new Error(`${streamKey(stream)}: a line stands twice`)
  return unique
}

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
export async function checkStream(run: Run, stream: Stream, fullBefore: number | undefined): Promise<void> {
  const checkpoint = await run.keeper.store.ledger.read(stream)
  if (checkpoint === undefined) return
  if (run.keeper.pruned.has(streamKey(stream)))
    throw new Error(`${streamKey(stream)}: pumped anew after it was pruned`)
  const shipped = await shippedLines(run, checkpoint)
  noteReadRequest(run, checkpoint)
  const full = checkpoint.lastFull
  if (full !== undefined && full.beganAtMs !== fullBefore && !areDatesWrong(run)) {
    // Scans of a listing that turns round under them have an excuse: offsets then name other entries.
    const missing = missingOf(run, stream, shipped, full.beganAtMs)
    if (missing.length > 0)
      throw new Error(`${streamKey(stream)}: a complete full scan missed ${missing.length}`)
  }
  checkLag(run, checkpoint, shipped)
}

/**
 * Lag is honest: what had appeared when the stream was caught up is shipped, apart from what came later than the
 * overlap covers. Of a listing without order, incremental scans promise nothing.
 */
function checkLag(run: Run, checkpoint: Checkpoint, shipped: ReadonlySet<string>): void {
  const { world, overlapMs, oddShare } = run.options
  if (checkpoint.ended !== undefined || oddShare > 0 || areDatesWrong(run)) return
  if (world.order === 'unordered' || world.order === 'turning') return
  const { stream } = checkpoint
  const caughtUpMs = caughtUpOf({ stream, checkpoint }, run.policy)
  if (caughtUpMs <= startOf(stream.day)) return
  const unread = missingOf(run, stream, shipped, caughtUpMs).filter(
    ({ arrivesAtMs, sortMs }) => arrivesAtMs - sortMs <= overlapMs,
  )
  if (unread.length > 0)
    throw new Error(`${streamKey(stream)}: caught up, they say, but ${unread.length} events are not shipped`)
}

/** Answers tell wrong times: what counts from them is off until they are right again. */
function areDatesWrong({ options: { world } }: Run): boolean {
  return world.dates === 'sometimes wrong' || world.dates === 'wrong in a row'
}

function noteReadRequest({ readRequests }: Run, { stream, lastFull, ended }: Checkpoint): void {
  const key = streamKey(stream)
  if (ended?.as === 'expired' || lastFull?.readRequest === readRequests.get(key)) readRequests.delete(key)
}
