import type { Checkpoint } from '../../domain/checkpoint.ts'
import type { Identity } from '../../domain/event/event.ts'
import { cancelled, Failure } from '../../domain/failure.ts'
import { untimedMinute, type MinuteCount } from '../../domain/event/seen.ts'
import {
  foreignLinesOf,
  isSettled,
  minuteText,
  type FileAudit,
  type ForeignLines,
  type LineProblem,
  type LineReport,
  type PartEnd,
  type PartLines,
  type PartReport,
} from '../../domain/audit-report.ts'
import { streamKey, type Stream, type Zone } from '../../domain/stream.ts'
import { sumOf } from '../../domain/text/counts.ts'
import type { Clock } from '../../ports/process.ts'
import type { Store } from '../../ports/store.ts'
import { seenAs, type Sighting } from '../../pump/seen-window.ts'
import { compareWithLedger, type MinuteDifference } from './compare.ts'
import { FoundEvents } from '../read/found-events.ts'

/** A line that no format can read has no identity. */
export type SinkPiece = PartLines<Identity | undefined> | PartEnd

/** The parts of a file sink, or the objects of an s3 sink. */
export interface SinkFiles {
  /** The sink may ship an event twice: at least once. */
  readonly mayRepeat?: boolean
  /** Those that differ from what is committed. */
  compareParts(stream: Stream, checkpoint: Checkpoint | undefined): Promise<readonly PartReport[]>
  /** What they hold up to these committed lengths, and up to this number of an object. */
  readLines(stream: Stream, of: Pick<Checkpoint, 'committed' | 'objectBytes'>): AsyncIterable<SinkPiece>
}

export interface PartsDeps {
  readonly store: Store
  readonly clock: Clock
  /** Whether a running process ships from this store: then it is about to ship what has just happened. */
  isShipping(): Promise<boolean>
  /** Of file and s3 sinks, by name. */
  readonly files: ReadonlyMap<string, SinkFiles>
}

export interface FilesLooked {
  readonly report: FileAudit
  /** The checkpoint that the files were compared with. */
  readonly checkpoint: Checkpoint
  /** Events without a line, and lines without an event. */
  readonly lost: readonly Sighting[]
  readonly unknown: readonly Sighting[]
  readonly ends: ReadonlyMap<string, PartEnd>
}

/**
 * Reads the parts of one stream up to their committed lengths and compares every line with the ledger, without a fence.
 * Takes up to 32 MB for each million lines. Throws a Failure when it could not compare.
 */
export async function auditFiles(
  { zone, stream, files }: { readonly zone: Zone; readonly stream: Stream; readonly files: SinkFiles },
  deps: PartsDeps,
  signal: AbortSignal,
): Promise<FilesLooked> {
  const { checkpoint, ledger, deadLetters } = await readSnapshot(stream, deps, signal)
  const read = () => piecesOf(files.readLines(stream, checkpoint), signal)
  const problems = new ProblemTally()
  const found = new FoundEvents()
  const ends = new Map<string, PartEnd>()
  let [lines, repeated] = [0, 0]
  for await (const piece of read()) {
    const { part } = piece
    if ('lines' in piece) {
      lines += piece.lines.length
      for (const [index, identity] of piece.lines.entries()) {
        const line = { part, line: piece.from + index, ...identity }
        if (identity === undefined) problems.add({ ...line, problem: 'unreadable' })
        else if (found.add(seenAs(identity))) continue
        else if (files.mayRepeat === true) repeated++
        else problems.add({ ...line, problem: 'doubled' })
      }
      continue
    }
    ends.set(part, piece)
    const line = piece.wholeLines + 1
    if (piece.damage !== undefined) problems.add({ part, line, problem: 'damaged', why: piece.damage })
    else if (piece.isTorn) problems.add({ part, line, problem: 'torn' })
  }
  const differences = await compareWithLedger(found, {
    before: ledger,
    after: ledger,
    load: (minutes) => deps.store.ledger.loadSeen(stream, minutes),
    waiting: deadLetters.map(seenAs),
  })
  const unknown = sightingsOf(differences, 'unknown')
  if (unknown.length > 0) await nameLines(read(), unknown, problems)
  const parts = await differingParts(stream, deps, signal)
  const foreign = await foreignLines(stream, files, parts, signal)
  const { dropped = 0, filtered = 0 } = checkpoint.counters
  const elsewhere = linesElsewhere(checkpoint, parts)
  const [absent, extra] = [sumOf(differences, 'lacking'), sumOf(differences, 'unknown')]
  // The store knows only how many events were dropped, filtered, or are in parts on another host, not which ones; which
  // ones were in parts that the sink's retention removed, it does not know at all.
  const removed = checkpoint.removed === undefined ? 0 : Infinity
  const missing = Math.max(0, absent - dropped - filtered - elsewhere - removed)
  const minutes = differences.map(({ minute, found, ledger, lacking, unknown }) => {
    return { minute: minuteText(minute), ledger, lines: found, missing: lacking, extra: unknown }
  })
  const bad = missing + extra + problems.total + foreignLinesOf({ foreign })
  return {
    checkpoint,
    report: {
      ...stream,
      name: zone.name,
      isEqual: bad === 0 && parts.every(isSettled),
      lines,
      ...(repeated > 0 && { repeated }),
      ledger: sumOf(ledger, 'count'),
      deadLetters: deadLetters.length,
      dropped,
      filtered,
      missing,
      problems: problems.counts,
      isByCounts: differences.some(({ events }) => events === undefined),
      minutes: missing + extra === 0 ? [] : minutes,
      badLines: problems.named(),
      parts,
      foreign,
    },
    lost: missing === 0 || elsewhere > 0 ? [] : sightingsOf(differences, 'lacking'),
    unknown,
    ends,
  }
}

async function* piecesOf(pieces: AsyncIterable<SinkPiece>, signal: AbortSignal): AsyncGenerator<SinkPiece> {
  for await (const piece of pieces) {
    if (signal.aborted) throw cancelled(signal.reason)
    yield piece
  }
}

function sightingsOf(differences: readonly MinuteDifference[], of: 'unknown' | 'lacking'): Sighting[] {
  return differences.flatMap(({ minute, events }) => {
    const time = minute === untimedMinute ? {} : { timeMs: minute * 60_000 }
    return (events?.[of] ?? []).map((fingerprint) => ({ fingerprint, ...time }))
  })
}

async function nameLines(
  pieces: AsyncIterable<SinkPiece>,
  unknown: readonly Sighting[],
  problems: ProblemTally,
): Promise<void> {
  const wanted = new Set(unknown.map(({ fingerprint }) => fingerprint))
  for await (const piece of pieces) {
    if (!('lines' in piece)) continue
    for (const [index, identity] of piece.lines.entries())
      // Each once: a second line of the event is a doubled one.
      if (identity !== undefined && wanted.delete(seenAs(identity).fingerprint))
        problems.add({ part: piece.part, line: piece.from + index, problem: 'unknown', ...identity })
  }
}

function linesElsewhere({ committed }: Checkpoint, parts: FileAudit['parts']): number {
  const names = new Set(parts.flatMap(({ part, isElsewhere }) => (isElsewhere === true ? [part] : [])))
  return sumOf(
    committed.filter(({ part }) => names.has(part)),
    'lines',
  )
}

const mostTries = 100
const pauseMs = 100

/** Committed lengths, ledger and dead letters of one commit, without a fence. */
async function readSnapshot(
  stream: Stream,
  { store, clock }: PartsDeps,
  signal: AbortSignal,
): Promise<{ checkpoint: Checkpoint; ledger: readonly MinuteCount[]; deadLetters: readonly Identity[] }> {
  for (let tries = 0; tries < mostTries; tries++) {
    const checkpoint = await store.ledger.read(stream)
    if (checkpoint === undefined) {
      const why = 'it was never shipped, or more than state.keepDays ago'
      throw new Failure('refuse', 'rejected', `the store has no checkpoint of ${streamKey(stream)}: ${why}`)
    }
    const ledger = await store.ledger.minutes(stream)
    const deadLetters = await store.deadLetters.keys(stream)
    const isStill = (await store.ledger.read(stream))?.commit === checkpoint.commit
    if (isStill) return { checkpoint, ledger, deadLetters }
    await clock.sleep(pauseMs, signal)
  }
  throw new Failure('retry', 'held', `${streamKey(stream)} is being written all the time; try again later`)
}

/** Counts the lines of parts that are not the sink's own, by the reason. One with a committed length was counted before. */
async function foreignLines(
  stream: Stream,
  files: SinkFiles,
  parts: FileAudit['parts'],
  signal: AbortSignal,
): Promise<ForeignLines[]> {
  const whys = new Map<string, string>()
  for (const { part, problem, expectedBytes, why } of parts)
    if (problem === 'foreign' && expectedBytes === undefined) whys.set(part, why)
  const found = new Map<string, ForeignLines>()
  if (whys.size === 0) return []
  const committed = [...whys.keys()].map((part) => ({ writer: '', part, bytes: Infinity, lines: Infinity }))
  for await (const piece of piecesOf(files.readLines(stream, { committed }), signal)) {
    if ('lines' in piece) continue
    const lines = piece.wholeLines + (piece.isTorn ? 1 : 0)
    if (lines === 0) continue
    const why = whys.get(piece.part)!
    const before = found.get(why) ?? { why, parts: 0, lines: 0 }
    found.set(why, { why, parts: before.parts + 1, lines: before.lines + lines })
  }
  return [...found.values()]
}

const mostNamed = 1_000

/** Counts all bad lines, and keeps the first of them. */
class ProblemTally {
  readonly counts: Record<LineProblem, number> = {
    unreadable: 0,
    unknown: 0,
    doubled: 0,
    torn: 0,
    damaged: 0,
  }
  readonly #named: LineReport[] = []

  add(report: LineReport): void {
    this.counts[report.problem]++
    if (this.#named.length < mostNamed) this.#named.push(report)
  }

  get total(): number {
    return Object.values(this.counts).reduce((sum, count) => sum + count, 0)
  }

  named(): LineReport[] {
    return this.#named.toSorted((a, b) => (a.part === b.part ? a.line - b.line : a.part < b.part ? -1 : 1))
  }
}

const partLooks = 5
const partPauseMs = 300

/** Looks several times: a delivery in progress lengthens a part before its new length is committed. */
export async function differingParts(
  stream: Stream,
  { store, clock, isShipping, files }: PartsDeps,
  signal: AbortSignal,
): Promise<readonly PartReport[]> {
  const own = files.get(stream.sink)
  if (own === undefined) return []
  for (let looks = 1; ; looks++) {
    const parts = await own.compareParts(stream, await store.ledger.read(stream))
    if (parts.every(isSettled)) return parts
    if (looks < partLooks) {
      await clock.sleep(partPauseMs, signal)
      continue
    }
    // What lies beyond the committed lengths is about to be committed, or was left by a process that died.
    if (!(await isShipping())) return parts
    return parts.filter(({ problem }) => problem !== 'longer' && problem !== 'unknown')
  }
}
