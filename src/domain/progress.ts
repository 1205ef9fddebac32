import { afterArchivePage, archiveScan, keepArchiveScan } from './archive-scan.ts'
import type { Checkpoint } from './checkpoint.ts'
import { completeSweep } from './complete-sweep.ts'
import type { CommittedPart } from './delivery.ts'
import type { Due } from './due.ts'
import type { PageFacts } from './page-facts.ts'
import { overlapStart, polledSpan } from './overlap.ts'
import type { Policy } from './policy.ts'
import { answerRequest } from './answer-request.ts'
import type { ReadRequest } from './read-request.ts'
import { mergeCommitted } from './committed-parts.ts'
import { cursorBefore, rememberCursor } from './stored-cursors.ts'
import type { Stream } from './stream.ts'
import { advanceSweep, beginSweep, findPart, type Sweep, type SweepStep } from './sweep.ts'
import { troubleAfterPage } from './trouble.ts'
import type { Trust } from './trust.ts'

/** The checkpoint of a stream that was never pumped. */
export function newCheckpoint(stream: Stream, nowMs: number, trust: Trust): Checkpoint {
  return {
    stream,
    commit: 0,
    createdAtMs: nowMs,
    trust,
    storedCursors: [],
    mark: [],
    newSinceFull: 0,
    pollPagesSinceFull: 0,
    settleRepeats: 0,
    restarts: 0,
    counters: { pages: 0, events: 0, delivered: 0, duplicates: 0, late: 0, deadLetters: 0 },
    committed: [],
    needsFull: false,
    lastCommitAtMs: nowMs,
  }
}

/** The sweep to go on with: the unfinished one that is due, or a new one that begins now. */
export function sweepFor(
  checkpoint: Checkpoint,
  due: Due,
  nowMs: number,
  policy: Policy,
  wish?: ReadRequest,
): Sweep {
  const { kind } = due
  if (kind === 'archive') return archiveScan(checkpoint, wish?.id ?? '', nowMs)
  const unfinished = kind === 'full' ? checkpoint.full : checkpoint.partial
  if (unfinished !== undefined) return unfinished
  const overlapStartMs = overlapStart(checkpoint, policy)
  const fromTail = kind === 'partial' && checkpoint.trust.order === 'oldest-first'
  return beginSweep({
    kind,
    beganAtMs: nowMs,
    cursor: fromTail ? cursorBefore(checkpoint.storedCursors, overlapStartMs) : null,
    overlapStartMs,
    newestAtBeginMs: checkpoint.newestMs ?? null,
    ...(wish !== undefined && { wish: wish.id }),
  })
}

/** What one committed page changes besides the place of its sweep. */
export interface PageOutcome {
  readonly delivered: number
  readonly deadLetters: number
  readonly late: number
  readonly committed: readonly CommittedPart[]
  /** The API has told a time that nothing confirms yet: the day is not closed by it. */
  readonly isTimeDoubtful: boolean
}

/** Where a page brings its sweep; known before its events are delivered. */
export function stepOf(before: Checkpoint, sweep: Sweep, facts: PageFacts, policy: Policy): SweepStep {
  return advanceSweep(sweep, facts, { order: before.trust.order, polled: polledSpan(before, policy) })
}

/** The checkpoint after one page of a sweep. */
export function afterPage(
  before: Checkpoint,
  step: SweepStep,
  facts: PageFacts,
  outcome: PageOutcome,
  nowMs: number,
  policy: Policy,
): Checkpoint {
  const { sweep } = step
  if (sweep.kind === 'archive') return afterArchivePage(withTroubleAfterPage(before), step, facts, outcome)
  const moved: Checkpoint = {
    ...before,
    lastPage: sweep.kind,
    ...(facts.newestMs !== null && { newestMs: Math.max(before.newestMs ?? 0, facts.newestMs) }),
    ...(facts.oldestMs !== null && { oldestOnPageMs: facts.oldestMs }),
    storedCursors:
      before.trust.order === 'newest-first' || before.ended !== undefined
        ? []
        : rememberCursor(before.storedCursors, facts, policy.overlapMs),
    newSinceFull: before.newSinceFull + (before.lastFull === undefined ? 0 : facts.unseen),
    pollPagesSinceFull: before.pollPagesSinceFull + (sweep.kind === 'partial' ? 1 : 0),
    counters: {
      pages: before.counters.pages + 1,
      events: before.counters.events + facts.events,
      delivered: before.counters.delivered + outcome.delivered,
      duplicates: before.counters.duplicates + facts.events - facts.unseen,
      late: before.counters.late + outcome.late,
      deadLetters: before.counters.deadLetters + outcome.deadLetters,
      ...(before.counters.dropped !== undefined && { dropped: before.counters.dropped }),
    },
    committed: mergeCommitted(before.committed, outcome.committed),
  }
  if (step.end === 'none') return keepSweep(withTroubleAfterPage(moved), sweep)
  if (step.end !== 'complete') return sweep.wish === undefined ? dropSweeps(moved) : dropFullSweep(moved)
  const { trouble: _, ...calm } = moved
  const complete = completeSweep(calm, sweep, { nowMs, isTimeDoubtful: outcome.isTimeDoubtful }, policy)
  return sweep.wish === undefined
    ? complete
    : answerRequest(complete, { id: sweep.wish, outcome: 'done', found: sweep.found })
}

/** Unseen events of a page that are delivered or dead letters now, although the page as a whole is not. */
export interface PartOfPage extends Omit<PageOutcome, 'isTimeDoubtful'> {
  /** Their event times, where they have one. */
  readonly timesMs: readonly number[]
}

/** The page has to come again: its sweep stays where it is, and has found these events. */
export function afterPart(before: Checkpoint, sweep: Sweep, part: PartOfPage, policy: Policy): Checkpoint {
  const { delivered, deadLetters, late } = part
  const { counters } = before
  const known = delivered + deadLetters
  const found = findPart(sweep, { events: known, timesMs: part.timesMs }, polledSpan(before, policy))
  const kept: Checkpoint = {
    ...before,
    newSinceFull: before.newSinceFull + (before.lastFull === undefined ? 0 : known),
    counters: {
      ...counters,
      // Only what the API listed counts as read.
      events: counters.events + (sweep.kind === 'archive' ? 0 : known),
      delivered: counters.delivered + delivered,
      late: counters.late + late,
      deadLetters: counters.deadLetters + deadLetters,
    },
    committed: mergeCommitted(before.committed, part.committed),
  }
  return keepSweep(kept, found)
}

/** Lines or committed lengths change otherwise than by a page or a replay. */
export function countMend(checkpoint: Checkpoint): Checkpoint {
  return { ...checkpoint, mends: (checkpoint.mends ?? 0) + 1 }
}

/** Dead letters that the sink has now, or that nobody wants: of either kind they stay in the ledger. */
export function settleLetters(
  checkpoint: Checkpoint,
  settled: { readonly delivered?: number; readonly dropped?: number },
): Checkpoint {
  const { counters } = checkpoint
  const { delivered = 0, dropped = 0 } = settled
  const droppedInAll = (counters.dropped ?? 0) + dropped
  return {
    ...checkpoint,
    counters: {
      ...counters,
      delivered: counters.delivered + delivered,
      deadLetters: Math.max(0, counters.deadLetters - delivered - dropped),
      ...(droppedInAll > 0 && { dropped: droppedInAll }),
    },
  }
}

/** A stored cursor has expired, which is no failure: those that are older have too, so the next sweep is full. */
export function dropStoredCursors(checkpoint: Checkpoint): Checkpoint {
  const { partial: _, ...rest } = checkpoint
  return { ...rest, storedCursors: [] }
}

/** The same for a person's request, whose failure leaves polls and their next scan as they are. */
export function dropFullSweep(checkpoint: Checkpoint): Checkpoint {
  const { full: _, ...rest } = checkpoint
  return rest
}

/** A sweep ended incomplete, or its cursor expired: all unfinished ones go, and the next one is full. */
export function dropSweeps(checkpoint: Checkpoint): Checkpoint {
  const { full: _full, partial: _partial, ...rest } = checkpoint
  return { ...rest, needsFull: true }
}

function keepSweep(checkpoint: Checkpoint, sweep: Sweep): Checkpoint {
  if (sweep.kind === 'archive') return keepArchiveScan(checkpoint, sweep)
  return sweep.kind === 'full' ? { ...checkpoint, full: sweep } : { ...checkpoint, partial: sweep }
}

function withTroubleAfterPage({ trouble, requestTrouble, ...rest }: Checkpoint): Checkpoint {
  const [left, ofRequest] = [troubleAfterPage(trouble), troubleAfterPage(requestTrouble)]
  return {
    ...rest,
    ...(left !== undefined && { trouble: left }),
    ...(ofRequest !== undefined && { requestTrouble: { ...ofRequest, request: requestTrouble!.request } }),
  }
}
