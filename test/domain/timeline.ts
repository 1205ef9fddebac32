import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import { dueAt, nextDue } from '../../src/domain/due.ts'
import type { PageFacts } from '../../src/domain/page-facts.ts'
import type { Policy } from '../../src/domain/policy.ts'
import { afterPage, stepOf, sweepFor } from '../../src/domain/progress.ts'
import type { Sweep, SweepKind } from '../../src/domain/sweep.ts'
import { buildFacts, cursorAt } from './builders.ts'

/** A stream that is pumped page by page whenever it is due, on a clock that pages and waits move. */
export interface TimelineOptions {
  readonly checkpoint: Checkpoint
  readonly policy: Policy
  readonly fromMs: number
  readonly untilMs: number
  /** Pages of a sweep that begins now. */
  readonly pagesOf: (kind: SweepKind, atMs: number) => number
  readonly pageMs: number
  /** What is on a page, besides its place in the listing. */
  readonly factsOf?: (sweep: Sweep, atMs: number) => Partial<PageFacts>
}

export interface TimelinePage {
  readonly kind: SweepKind
  readonly atMs: number
  /** It was the last one of its sweep. */
  readonly last: boolean
}

export function runTimeline(options: TimelineOptions): { pages: TimelinePage[]; checkpoint: Checkpoint } {
  const { policy, pageMs } = options
  let { checkpoint, fromMs: nowMs } = options
  const pages: TimelinePage[] = []
  const left: Partial<Record<SweepKind, number>> = {}
  while (nowMs < options.untilMs) {
    const due = nextDue(checkpoint.stream, checkpoint, nowMs, policy)
    const atMs = dueAt(due, checkpoint.trouble, nowMs)
    if (atMs > nowMs) {
      // What is due may change with time alone, so it is asked again after a while.
      nowMs = Math.min(atMs, nowMs + 60_000)
      continue
    }
    const sweep = sweepFor(checkpoint, due, nowMs, policy)
    if (sweep.pages === 0) left[sweep.kind] = options.pagesOf(sweep.kind, nowMs)
    const remaining = (left[sweep.kind] ?? 1) - 1
    left[sweep.kind] = remaining
    nowMs += pageMs
    const facts = buildFacts({
      cursor: sweep.cursor,
      next: remaining > 0 ? cursorAt(`${sweep.kind} ${pages.length}`) : null,
      more: remaining > 0,
      tookMs: pageMs,
      ...options.factsOf?.(sweep, nowMs),
    })
    const step = stepOf(checkpoint, sweep, facts, policy)
    const outcome = { delivered: facts.unseen, deadLetters: 0, late: 0, committed: [], isTimeDoubtful: false }
    const next = afterPage(checkpoint, step, facts, outcome, nowMs, policy)
    checkpoint = { ...next, commit: checkpoint.commit + 1, lastCommitAtMs: nowMs }
    pages.push({ kind: sweep.kind, atMs: nowMs, last: remaining <= 0 })
  }
  return { pages, checkpoint }
}
