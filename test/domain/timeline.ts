import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import { dueAt, nextDue } from '../../src/domain/plan/due.ts'
import type { PageFacts } from '../../src/domain/scan/page.ts'
import type { Policy } from '../../src/domain/policy.ts'
import { afterPage, scanFor } from '../../src/domain/scan/progress.ts'
import type { Scan, ScanKind } from '../../src/domain/scan/scan.ts'
import { buildFacts, cursorAt } from './builders.ts'

/** A stream that is pumped page by page whenever it is due, on a clock that pages and waits move. */
export interface TimelineOptions {
  readonly checkpoint: Checkpoint
  readonly policy: Policy
  readonly fromMs: number
  readonly untilMs: number
  /** Pages of a scan that begins now. */
  readonly pagesOf: (kind: ScanKind, atMs: number) => number
  readonly pageMs: number
  /** What is on a page, besides its place in the listing. */
  readonly factsOf?: (scan: Scan, atMs: number) => Partial<PageFacts>
}

export interface TimelinePage {
  readonly kind: ScanKind
  readonly atMs: number
  /** It was the last one of its scan. */
  readonly last: boolean
}

export function runTimeline(options: TimelineOptions): { pages: TimelinePage[]; checkpoint: Checkpoint } {
  const { policy, pageMs } = options
  let { checkpoint, fromMs: nowMs } = options
  const pages: TimelinePage[] = []
  const left: Partial<Record<ScanKind, number>> = {}
  while (nowMs < options.untilMs) {
    const due = nextDue({ stream: checkpoint.stream, checkpoint }, nowMs, policy)
    const atMs = dueAt(due, checkpoint.trouble, nowMs)
    if (atMs > nowMs) {
      // What is due may change with time alone, so it is asked again after a while.
      nowMs = Math.min(atMs, nowMs + 60_000)
      continue
    }
    const scan = scanFor({ checkpoint, kind: due.kind }, { nowMs, sureMs: nowMs }, policy)
    if (scan.pages === 0) left[scan.kind] = options.pagesOf(scan.kind, nowMs)
    const remaining = (left[scan.kind] ?? 1) - 1
    left[scan.kind] = remaining
    nowMs += pageMs
    const facts = buildFacts({
      cursor: scan.cursor,
      next: remaining > 0 ? cursorAt(`${scan.kind} ${pages.length}`) : null,
      more: remaining > 0,
      tookMs: pageMs,
      ...options.factsOf?.(scan, nowMs),
    })
    const { after } = afterPage(checkpoint, scan, facts, { nowMs, sureMs: Infinity }, policy)
    checkpoint = { ...after, commit: checkpoint.commit + 1, lastCommitAtMs: nowMs }
    pages.push({ kind: scan.kind, atMs: nowMs, last: remaining <= 0 })
  }
  return { pages, checkpoint }
}
