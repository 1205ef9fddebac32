import { leftOutAfter, lostAfter, type Checkpoint } from '../checkpoint.ts'
import type { CommittedPart } from '../event/delivery.ts'
import type { PageFacts } from './page-facts.ts'
import { answerRequest } from '../answer-request.ts'
import { mergeCommitted } from '../event/committed-parts.ts'
import { beginScan, type Scan, type ScanStep } from './scan.ts'

export function archiveScan({ archives }: Checkpoint, request: string, nowMs: number): Scan {
  const start = { beganAtMs: nowMs, cursor: null, overlapStartMs: null, newestAtBeginMs: null }
  return archives?.[request] ?? beginScan({ kind: 'archive', ...start, readRequest: request })
}

/** Stores the scan before its first page is read. */
export function beginArchiveScan(checkpoint: Checkpoint, request: string, nowMs: number): Checkpoint {
  return keepArchiveScan(checkpoint, archiveScan(checkpoint, request, nowMs))
}

export function keepArchiveScan(checkpoint: Checkpoint, scan: Scan): Checkpoint {
  return { ...checkpoint, archives: { ...checkpoint.archives, [scan.readRequest ?? '']: scan } }
}

export function endArchiveScan(checkpoint: Checkpoint, request: string): Checkpoint {
  const { archives = {}, ...rest } = checkpoint
  const { [request]: _, ...others } = archives
  return Object.keys(others).length === 0 ? rest : { ...rest, archives: others }
}

export function afterArchivePage(
  before: Checkpoint,
  { end, scan }: ScanStep,
  facts: PageFacts,
  outcome: {
    readonly delivered: number
    readonly deadLetters: number
    readonly filtered: number
    readonly lost?: number
    readonly skipped: number
    readonly committed: readonly CommittedPart[]
  },
): Checkpoint {
  const { counters } = before
  const request = scan.readRequest ?? ''
  const moved: Checkpoint = {
    ...before,
    committed: mergeCommitted(before.committed, outcome.committed),
    newSinceFull: before.newSinceFull + (before.lastFull === undefined ? 0 : facts.unseen),
    counters: {
      ...counters,
      delivered: counters.delivered + outcome.delivered,
      deadLetters: counters.deadLetters + outcome.deadLetters,
      ...leftOutAfter(counters, outcome),
      ...lostAfter(counters, outcome.lost),
    },
  }
  if (end === 'none') return keepArchiveScan(moved, scan)
  if (end !== 'complete') return endArchiveScan(moved, request)
  // Scans of killed requests are dropped too. A request that still runs starts again and skips what is seen.
  const { archives: _, ...rest } = moved
  return answerRequest(rest, { id: request, outcome: 'done', found: scan.found })
}
