import type { Checkpoint } from '../../domain/checkpoint.ts'
import type { Identity } from '../../domain/event/event.ts'
import { cancelled, Failure } from '../../domain/failure.ts'
import { minuteOf, unpackFingerprints, type MinuteCount } from '../../domain/event/seen.ts'
import {
  foreignLinesOf,
  type PartEnd,
  type PartReport,
  type FileAudit,
  type FileMinute,
  type ForeignLines,
} from '../../domain/audit-report.ts'
import { streamKey, type Stream, type Zone } from '../../domain/stream.ts'
import type { Clock } from '../../ports/process.ts'
import type { Store } from '../../ports/store.ts'
import { seenAs } from '../../pump/seen-window.ts'
import { proves } from './compare-ledger.ts'
import { DoubtfulMinute, ProblemTally, MinuteTally } from './line-tally.ts'
import type { CommittedPart } from '../../domain/event/delivery.ts'

interface AuditFilesDeps extends PartsDeps {
  readonly store: Store
  readonly clock: Clock
}

/** What a repair needs in addition to the report. */
export interface FilesLooked {
  readonly report: FileAudit
  /** The checkpoint that the files were compared with. */
  readonly checkpoint: Checkpoint
  /** Fingerprints by minute of events without a line, and of lines without an event; at most a million of each. */
  readonly absent: ReadonlyMap<number, readonly bigint[]>
  readonly strange: ReadonlyMap<number, readonly bigint[]>
  readonly ends: ReadonlyMap<string, PartEnd>
}

/** A sink whose parts can be read. */
export type ReadableSink = AuditedSink & Required<Pick<AuditedSink, 'readLines'>>

/** How many fingerprints are in memory at once, two times. */
const eventsAtOnce = 1_000_000
const minutesAtOnce = 60
const mostTries = 100
const pauseMs = 100

interface Snapshot {
  readonly checkpoint: Checkpoint
  readonly ledger: readonly MinuteCount[]
  readonly deadLetters: readonly Identity[]
}

/**
 * Reads the parts of one stream up to their committed lengths and compares every line with the ledger. First compares
 * all minutes by count and hash, which takes no memory; then the lines of minutes that differ, one by one. Throws a
 * Failure when it could not compare.
 */
export async function auditFiles(
  { zone, stream, sink }: { readonly zone: Zone; readonly stream: Stream; readonly sink: ReadableSink },
  deps: AuditFilesDeps,
  signal: AbortSignal,
): Promise<FilesLooked> {
  const snapshot = await readSnapshot(stream, deps, signal)
  const { checkpoint, ledger, deadLetters } = snapshot
  const expected = new MinuteTally(ledger)
  for (const deadLetter of deadLetters) expected.add(deadLetter, -1)
  const problems = new ProblemTally()
  const { lines, tally, ends } = await countLines({ stream, sink, snapshot }, problems, signal)
  const doubtful = expected.differing(tally)
  const holes = { absent: new Map<number, bigint[]>(), strange: new Map<number, bigint[]>() }
  const room = { absent: eventsAtOnce, strange: eventsAtOnce }
  const minutes: FileMinute[] = []
  let isByCounts = false
  for (const some of rounds(doubtful, expected, tally)) {
    const looked = await loadMinutes(some, stream, snapshot, deps)
    await lookAtLines({ stream, sink, snapshot }, looked, problems, signal)
    for (const [minute, each] of looked) {
      const report = each.report(minute, expected.at(minute))
      if (report.missing + report.extra > 0) minutes.push(report)
      isByCounts ||= each.isByCounts
      for (const kind of ['absent', 'strange'] as const) {
        const some = [...each[kind]()].slice(0, room[kind])
        room[kind] -= some.length
        if (some.length > 0) holes[kind].set(minute, some)
      }
    }
  }
  const parts = await differingParts(sink, stream, deps, signal)
  const foreign = await foreignLines({ stream, sink }, parts, signal)
  const { dropped = 0, filtered = 0 } = checkpoint.counters
  const elsewhere = linesElsewhere(checkpoint, parts)
  let [absent, extra, held] = [0, 0, 0]
  for (const { missing, extra: more } of minutes) [absent, extra] = [absent + missing, extra + more]
  for (const { count } of ledger) held += count
  // The store knows only how many events were dropped, filtered, or are in parts on another host, not which ones.
  const missing = Math.max(0, absent - dropped - filtered - elsewhere)
  const isSound =
    missing + extra + problems.total + foreignLinesOf({ foreign }) === 0 &&
    parts.every(({ problem }) => problem === 'foreign')
  return {
    checkpoint,
    report: {
      zone: zone.id,
      name: zone.name,
      day: stream.day,
      sink: stream.sink,
      isEqual: isSound,
      lines,
      ledger: held,
      deadLetters: deadLetters.length,
      dropped,
      filtered,
      missing,
      problems: problems.counts,
      isByCounts,
      minutes: missing + extra === 0 ? [] : minutes,
      badLines: problems.named(),
      parts,
      foreign,
    },
    ...(missing === 0 || elsewhere > 0 ? { ...holes, absent: new Map() } : holes),
    ends,
  }
}

function linesElsewhere({ committed }: Checkpoint, parts: FileAudit['parts']): number {
  const names = new Set(parts.flatMap(({ part, isElsewhere }) => (isElsewhere === true ? [part] : [])))
  let lines = 0
  for (const committedPart of committed) if (names.has(committedPart.part)) lines += committedPart.lines
  return lines
}

/** Committed lengths, ledger and dead letters of one commit, without a fence. */
async function readSnapshot(
  stream: Stream,
  { store, clock }: AuditFilesDeps,
  signal: AbortSignal,
): Promise<Snapshot> {
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

interface Subject {
  readonly stream: Stream
  readonly sink: ReadableSink
  readonly snapshot: Snapshot
}

async function countLines(
  { stream, sink, snapshot }: Subject,
  problems: ProblemTally,
  signal: AbortSignal,
): Promise<{ lines: number; tally: MinuteTally; ends: Map<string, PartEnd> }> {
  const tally = new MinuteTally()
  const ends = new Map<string, PartEnd>()
  let lines = 0
  for await (const piece of sink.readLines(stream, snapshot.checkpoint.committed)) {
    if (signal.aborted) throw cancelled(signal.reason)
    const { part } = piece
    if ('identities' in piece) {
      lines += piece.identities.length
      for (const [index, identity] of piece.identities.entries()) {
        if (identity === undefined) problems.add({ part, line: piece.from + index, problem: 'unreadable' })
        else tally.add(identity)
      }
      continue
    }
    ends.set(part, piece)
    const line = piece.wholeLines + 1
    if (piece.damage !== undefined) problems.add({ part, line, problem: 'damaged', why: piece.damage })
    else if (piece.isTorn) problems.add({ part, line, problem: 'torn' })
  }
  return { lines, tally, ends }
}

/** Counts the lines of parts that are not the sink's own, by the reason. One with a committed length was counted before. */
async function foreignLines(
  { stream, sink }: Omit<Subject, 'snapshot'>,
  parts: FileAudit['parts'],
  signal: AbortSignal,
): Promise<ForeignLines[]> {
  const found = new Map<string, ForeignLines>()
  for (const { part, problem, expectedBytes, why } of parts) {
    if (problem !== 'foreign' || expectedBytes !== undefined) continue
    const whole = { writer: '', part, bytes: Infinity, lines: Infinity }
    let lines = 0
    for await (const piece of sink.readLines(stream, [whole])) {
      if (signal.aborted) throw cancelled(signal.reason)
      if (!('identities' in piece)) lines += piece.wholeLines + (piece.isTorn ? 1 : 0)
    }
    if (lines === 0) continue
    const before = found.get(why) ?? { why, parts: 0, lines: 0 }
    found.set(why, { why, parts: before.parts + 1, lines: before.lines + lines })
  }
  return [...found.values()]
}

/** Minutes in groups that fit into memory. */
function* rounds(minutes: readonly number[], expected: MinuteTally, found: MinuteTally): Generator<number[]> {
  let some: number[] = []
  let events = 0
  for (const minute of minutes) {
    const size = Math.max(expected.at(minute).count, found.at(minute).count)
    if (some.length > 0 && events + size > eventsAtOnce) {
      yield some
      some = []
      events = 0
    }
    some.push(minute)
    events += size
  }
  if (some.length > 0) yield some
}

async function loadMinutes(
  minutes: readonly number[],
  stream: Stream,
  { ledger, deadLetters }: Snapshot,
  { store }: AuditFilesDeps,
): Promise<Map<number, DoubtfulMinute>> {
  const counts = new Map(ledger.map((entry) => [entry.minute, entry]))
  const waiting = new Set(deadLetters.map((deadLetter) => seenAs(deadLetter).fingerprint))
  const looked = new Map<number, DoubtfulMinute>()
  for (let from = 0; from < minutes.length; from += minutesAtOnce) {
    const some = minutes.slice(from, from + minutesAtOnce)
    const seen = await store.ledger.loadSeen(stream, some)
    for (const minute of some) {
      const entry = counts.get(minute)
      const all = unpackFingerprints(seen.get(minute) ?? new Uint8Array())
      // Fingerprints that were added since the snapshot come last.
      const known = proves(all, entry) ? all.slice(0, entry?.count ?? 0) : undefined
      looked.set(minute, new DoubtfulMinute(known?.filter((each) => !waiting.has(each))))
    }
  }
  return looked
}

async function lookAtLines(
  { stream, sink, snapshot }: Subject,
  looked: ReadonlyMap<number, DoubtfulMinute>,
  problems: ProblemTally,
  signal: AbortSignal,
): Promise<void> {
  for await (const piece of sink.readLines(stream, snapshot.checkpoint.committed)) {
    if (signal.aborted) throw cancelled(signal.reason)
    if (!('identities' in piece)) continue
    for (const [index, identity] of piece.identities.entries()) {
      if (identity === undefined) continue
      const { fingerprint, timeMs } = seenAs(identity)
      const problem = looked.get(minuteOf(timeMs))?.problem(fingerprint)
      if (problem !== undefined)
        problems.add({ part: piece.part, line: piece.from + index, problem, ...identity })
    }
  }
}

/** Lines of a part in order; a line that no format can read has no identity. */
export interface PartLines {
  readonly part: string
  readonly from: number
  readonly identities: readonly (Identity | undefined)[]
}

export interface AuditedSink {
  readonly name: string
  /** Parts of a sink that keeps committed lengths. Absent for others. */
  compareParts?(stream: Stream, checkpoint: Checkpoint | undefined): Promise<readonly PartReport[]>
  /** What its parts hold up to these committed lengths. Absent for other sinks. */
  readLines?(stream: Stream, committed: readonly CommittedPart[]): AsyncIterable<PartLines | PartEnd>
}

interface PartsDeps {
  readonly store: Pick<Store, 'ledger'>
  readonly clock: Clock
  /** Whether a running process ships from this store: then it is about to ship what has just happened. */
  isShipping(): Promise<boolean>
}

const partLooks = 5
const partPauseMs = 300

/** Looks several times: a delivery in progress lengthens a part before its new length is committed. */
export async function differingParts(
  sink: AuditedSink,
  stream: Stream,
  { store, clock, isShipping }: PartsDeps,
  signal: AbortSignal,
): Promise<readonly PartReport[]> {
  if (sink.compareParts === undefined) return []
  for (let looks = 1; ; looks++) {
    const parts = await sink.compareParts(stream, await store.ledger.read(stream))
    if (parts.every(({ problem }) => problem === 'foreign')) return parts
    if (looks < partLooks) {
      await clock.sleep(partPauseMs, signal)
      continue
    }
    // What lies beyond the committed lengths is about to be committed, or was left by a process that died.
    if (!(await isShipping())) return parts
    return parts.filter(({ problem }) => problem !== 'longer' && problem !== 'unknown')
  }
}
