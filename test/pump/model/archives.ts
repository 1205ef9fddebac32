import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import { dayMs, startOf, type Day } from '../../../src/domain/day.ts'
import { streamKey, type Stream } from '../../../src/domain/stream.ts'
import type { ArchivedPiece } from '../../../src/days/archived-events.ts'
import { checkStream, isExact, noteKnown, shippedLines } from './check-stream.ts'
import { archivedEvent, filesName, identityIn, lakeName } from './entry.ts'
import type { Run } from './run.ts'
import { createWorker } from './worker.ts'

/** So many lines are a piece, and fill a page. */
const pieceLines = 8
const pageBytes = 4_194_304

/**
 * A person ships a day from the files or objects of a sink to another one, in a process of its own. What was shipped to its
 * end holds all that the files had; nothing of it changes lag, state or gaps of the live route.
 */
export async function shipFromArchive(run: Run): Promise<void> {
  const { archives, days, faults, keeper, options, random, world, zones } = run
  const { catalogue, ledger } = keeper.store
  const sinks = run.sinksNow()
  const [zone, day, sink] = [random.pick(zones), random.pick(days), random.pick(sinks)]
  const stream: Stream = { zone: zone.id, day, sink }
  const key = streamKey(stream)
  const sources = [filesName, lakeName].filter((name) => name !== sink && run.sinks.includes(name))
  if (sources.length === 0 || startOf(day) > world.now() || faults.isFrozen(key)) return
  const lines = linesOf(run, zone.id, day, random.pick(sources))
  if (lines.length === 0) return
  const known = new Set((await noteKnown(run, stream)).map(({ line }) => line))
  for (const line of lines) if (!known.has(line)) archives.lines.add(`${key} ${line}`)
  const [before, gapsBefore] = [await ledger.read(stream), await catalogue.gaps()]
  const request = `archive ${archives.tried++}`
  const worker = createWorker(run, { isCommand: true })
  // As the command does: what the store has is a lower bound of the time.
  await worker.planner.plan()
  const { end, archived } = await worker.shipArchived(stream, zone, request, () => piecesOf(lines, zone.id))
  if (end !== 'frozen') worker.end()
  const after = await ledger.read(stream)
  await checkStream(run, stream, before)
  if (after === undefined || end !== 'done' || options.faults.failover > 0) return
  if (JSON.stringify(await catalogue.gaps()) !== JSON.stringify(gapsBefore))
    throw new Error(`${key}: an archive has changed gaps`)
  if (before !== undefined && liveOf(before) !== liveOf(after))
    throw new Error(`${key}: an archive has changed the live route: ${liveOf(before)} to ${liveOf(after)}`)
  if (archived?.leftOut !== undefined) return
  archives.shipped.add(key)
  if (after.archiveSinceMs !== undefined) throw new Error(`${key}: shipped from an archive, and still noted`)
  // Of entries that share id and time, either may stand for the other.
  if (options.oddShare > 0) return
  const shipped = await shippedLines(run, after)
  const isLacking = (line: string) =>
    !shipped.has(line) && (isExact(sink) || !run.receiver.refusesId(identityIn(line).id))
  const lacking = lines.filter(isLacking).length
  if (lacking > 0) throw new Error(`${key}: shipped from an archive, but ${lacking} lines are missing`)
}

/** All lines, also those that are not committed. */
function linesOf(run: Run, zone: number, day: Day, sink: string): string[] {
  const stream = { zone, day, sink }
  const lines = sink === filesName ? run.files.all(stream) : run.bucket.linesOf(stream).flat()
  return [...lines]
}

async function* piecesOf(lines: readonly string[], zone: number): AsyncGenerator<ArchivedPiece> {
  const part = 'all'
  for (let from = 0; from < lines.length; from += pieceLines) {
    const some = lines.slice(from, from + pieceLines).map((line) => archivedEvent(line, zone))
    yield { part, from: from + 1, bytes: pageBytes, lines: some }
  }
  const [wholeLines, wholeBytes] = [lines.length, lines.length * pageBytes]
  yield { part, wholeLines, wholeBytes, isTorn: false, isCompressed: false }
}

/** What only the live route changes. */
function liveOf(checkpoint: Checkpoint): string {
  const { caughtUpAtMs, lastFull, lastIncremental, full, incremental, ordering, ended } = checkpoint
  const { listed, gone, mark, storedCursors, needsFull, trouble, shrunken, newSinceFull } = checkpoint
  const scans = { caughtUpAtMs, lastFull, lastIncremental, full, incremental, ordering, ended }
  return JSON.stringify({
    ...scans,
    listed,
    gone,
    mark,
    storedCursors,
    needsFull,
    trouble,
    shrunken,
    newSinceFull,
  })
}

/** Streams that are half shipped from an archive, and need what they have seen for the next try. */
export async function halfShipped(run: Run): Promise<Stream[]> {
  const { keeper, options, world } = run
  const { catalogue, ledger } = keeper.store
  const half: Stream[] = []
  for (const { stream, archiveSinceMs } of await catalogue.checkpoints()) {
    // The clocks differ by some hours.
    if (archiveSinceMs === undefined) continue
    if (world.now() > archiveSinceMs + options.keepDays * dayMs - 4 * 3_600_000) continue
    if ((await ledger.dropped(stream)) === undefined) half.push(stream)
  }
  return half
}
