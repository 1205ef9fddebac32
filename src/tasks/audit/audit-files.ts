import type { SinkFiles, Pieces } from '../../ports/delivery.ts'
import type { Identity } from '../../domain/event/event.ts'
import { cancelled, Failure } from '../../domain/failure.ts'
import { untimedMinute } from '../../domain/event/seen.ts'
import { isSettled, type PartEnd, type PartLines, type PartReport } from '../../domain/audit-report.ts'
import { streamKey, type Stream, type Zone } from '../../domain/stream.ts'
import { sumOf } from '../../domain/text/terminal-text.ts'
import type { Clock } from '../../ports/process.ts'
import type { Store } from '../../ports/store.ts'
import { seenAs, type Sighting } from '../../pump/seen-window.ts'
import { compareWithLedger, minuteText, type MinuteDifference } from './compare.ts'
import { FoundEvents } from '../../days/found-events.ts'
import type { CommittedFiles } from '../../domain/checkpoint.ts'

export interface PartsDeps {
  readonly store: Store
  readonly clock: Clock
  /** Whether a running process ships from this store: then it is about to ship what has just happened. */
  isShipping(): Promise<boolean>
}

export type FilesLooked = Awaited<ReturnType<typeof auditFiles>>

/** How the parts of a file sink, or the objects of a sink such as s3, compare with the ledger, line by line. */
export type FileAudit = FilesLooked['report'] & {
  /** Events without a line that a repair delivered again, and lines that it took into the ledger. */
  readonly restored?: number
  readonly kept?: number
  /** Not all differing minutes and bad lines are named: the audit found too many in all. */
  readonly isShortened?: true
}

interface FilesOfDay {
  readonly zone: Zone
  readonly stream: Stream
  readonly files: SinkFiles
  /** Those that differ. */
  readonly parts: readonly PartReport[]
}

/**
 * Reads the parts of one stream up to their committed lengths and compares every line with the ledger, without a fence.
 * Takes up to 32 MB for each million lines. Throws a Failure when it could not compare.
 */
export async function auditFiles(
  { zone, stream, files, parts }: FilesOfDay,
  deps: PartsDeps,
  signal: AbortSignal,
) {
  const { checkpoint, ledger, deadLetters } = await readSnapshot(stream, deps, signal)
  const read = (of: CommittedFiles) => untilAborted(files.committed(stream, deps.store.id, of), signal)
  /**
   * What is wrong with lines of a part:
   * - `unreadable`: no line that any format wrote.
   * - `unknown`: a line of an event that the ledger does not have, or that waits as a dead letter.
   * - `doubled`: an earlier line has the same event.
   * - `torn`: the committed part of the file ends within it.
   * - `damaged`: from here on the part cannot be read.
   */
  const problems = { unreadable: 0, unknown: 0, doubled: 0, torn: 0, damaged: 0 }
  const badLines: (BadLine & { readonly problem: keyof typeof problems })[] = []
  function note(problem: keyof typeof problems, line: BadLine): void {
    problems[problem]++
    if (badLines.length < mostNamed) badLines.push({ ...line, problem })
  }
  const found = new FoundEvents()
  const ends = new Map<string, PartEnd>()
  let [lines, repeated] = [0, 0]
  for await (const piece of read(checkpoint)) {
    const { part } = piece
    if ('lines' in piece) {
      lines += piece.lines.length
      for (const [index, text] of piece.lines.entries()) {
        const identity = files.identify(text)
        const line = { part, line: piece.from + index, ...identity }
        if (identity === undefined) note('unreadable', line)
        else if (found.add(seenAs(identity))) continue
        else if (files.mayRepeat === true) repeated++
        else note('doubled', line)
      }
      continue
    }
    ends.set(part, piece)
    const end = { part, line: piece.wholeLines + 1 }
    if (piece.damage !== undefined) note('damaged', { ...end, why: piece.damage })
    else if (piece.isTorn) note('torn', end)
  }
  const foreign = await foreignLines(parts, read)
  const differences = await compareWithLedger(found, {
    before: ledger,
    after: ledger,
    load: (minutes) => deps.store.ledger.loadSeen(stream, minutes),
    waiting: deadLetters.map(seenAs),
  })
  const unknown = sightingsOf(differences, 'unknown')
  const wanted = new Set(unknown.map(({ fingerprint }) => fingerprint))
  if (wanted.size > 0)
    for await (const piece of read(checkpoint)) {
      if (!('lines' in piece)) continue
      for (const [index, text] of piece.lines.entries()) {
        const identity = files.identify(text)
        // Each once: a second line of the event is a doubled one.
        if (identity !== undefined && wanted.delete(seenAs(identity).fingerprint))
          note('unknown', { part: piece.part, line: piece.from + index, ...identity })
      }
    }
  const { dropped = 0, filtered = 0 } = checkpoint.counters
  const away = new Set(parts.flatMap(({ part, isElsewhere }) => (isElsewhere === true ? part : [])))
  const partsAway = checkpoint.committed.filter(({ part }) => away.has(part))
  const elsewhere = sumOf(partsAway, 'lines')
  const [absent, extra] = [sumOf(differences, 'lacking'), sumOf(differences, 'unknown')]
  // The store knows only how many events were dropped, filtered, or are in parts on another host, not which ones; which
  // ones were in parts that the sink's retention removed, it does not know at all.
  const removed = checkpoint.removed === undefined ? 0 : Infinity
  const missing = Math.max(0, absent - dropped - filtered - elsewhere - removed)
  const minutes = differences.map(({ minute, found, ledger, lacking, unknown }) => {
    return { minute: minuteText(minute), ledger, lines: found, missing: lacking, extra: unknown }
  })
  const isWhole = missing + extra + badLines.length + sumOf(foreign, 'lines') === 0
  const report = {
    ...stream,
    name: zone.name,
    isEqual: isWhole && parts.every(isSettled),
    /** Whole ones, up to the committed lengths. */
    lines,
    /** Their event has an earlier one too, of a sink that may ship an event twice: no difference. */
    ...(repeated > 0 && { repeated }),
    ledger: sumOf(ledger, 'count'),
    deadLetters: deadLetters.length,
    dropped,
    filtered,
    /** Have no line, and need one: they do not wait as dead letters, were not dropped, and are wanted. */
    missing,
    problems,
    isByCounts: differences.some(({ events }) => events === undefined),
    minutes: missing + extra === 0 ? [] : minutes,
    /** The first of them. */
    badLines: badLines.sort((a, b) => (a.part === b.part ? a.line - b.line : a.part < b.part ? -1 : 1)),
    parts,
    foreign,
  }
  const lost = missing === 0 || elsewhere > 0 ? [] : sightingsOf(differences, 'lacking')
  /** `lost`: events without a line; `unknown`: lines without an event; `checkpoint`: what the files were compared with. */
  return { report, checkpoint, lost, unknown, ends }
}

interface BadLine extends Partial<Identity> {
  readonly part: string
  /** From 1. */
  readonly line: number
  readonly why?: string
}

const mostNamed = 1_000

async function* untilAborted(pieces: Pieces, signal: AbortSignal): AsyncGenerator<PartLines | PartEnd> {
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

const mostTries = 100
const pauseMs = 100

/** Committed lengths, ledger and dead letters of one commit, without a fence. */
async function readSnapshot(stream: Stream, { store, clock }: PartsDeps, signal: AbortSignal) {
  for (let tries = 0; tries < mostTries; tries++) {
    const checkpoint = await store.ledger.read(stream)
    if (checkpoint === undefined) {
      const why = 'it was never shipped, or more than state.keepDays ago'
      throw new Failure('refuse', 'rejected', `the state has no checkpoint of ${streamKey(stream)}: ${why}`)
    }
    const ledger = await store.ledger.minutes(stream)
    const deadLetters = await store.deadLetters.keys(stream)
    const isStill = (await store.ledger.read(stream))?.commit === checkpoint.commit
    if (isStill) return { checkpoint, ledger, deadLetters }
    await clock.sleep(pauseMs, signal)
  }
  throw new Failure('retry', 'held', `${streamKey(stream)} is being written all the time; try again later`)
}

/**
 * Parts in the stream's folder that the store does not know as the sink's own, with their lines, by the reason: readers of
 * the folder find these too. One with a committed length was counted before.
 */
async function foreignLines(parts: readonly PartReport[], read: (of: CommittedFiles) => Pieces) {
  const others = parts.filter(
    ({ problem, expectedBytes }) => problem === 'foreign' && expectedBytes === undefined,
  )
  if (others.length === 0) return []
  const whys = new Map(others.map(({ part, why }) => [part, why]))
  const found = new Map<string, { why: string; parts: number; lines: number }>()
  const committed = others.map(({ part }) => ({ writer: '', part, bytes: Infinity, lines: Infinity }))
  for await (const piece of read({ committed })) {
    const lines = 'lines' in piece ? 0 : piece.wholeLines + (piece.isTorn ? 1 : 0)
    if (lines === 0) continue
    const why = whys.get(piece.part)!
    const before = found.get(why) ?? { why, parts: 0, lines: 0 }
    found.set(why, { why, parts: before.parts + 1, lines: before.lines + lines })
  }
  return [...found.values()]
}
