import type { Checkpoint } from '../../domain/checkpoint.ts'
import { retryWhileHeld } from '../../domain/retry.ts'
import { unknownOrdering } from '../../domain/scan/ordering.ts'
import { countRepair } from '../../domain/scan/progress.ts'
import type { Stream, Zone } from '../../domain/stream.ts'
import { seenAs } from '../../pump/seen-window.ts'
import { createSeenWindow } from '../../pump/seen-window.ts'
import type { PumpDeps } from '../../pump/session.ts'
import { takeStream } from '../../pump/take-stream.ts'

/**
 * Makes a day count as not shipped to a sink, in one commit: from then on any full scan, of a backfill or of a poll, ships
 * once more what the API lists of it, also if this process ends here. Its dead letters stay seen: a replay ships them,
 * and would otherwise ship a second copy. Only for sinks that do not keep each event once. Throws Failure.
 */
export function unseeDay(
  { stream, zone }: { readonly stream: Stream; readonly zone: Zone },
  deps: PumpDeps,
  signal: AbortSignal,
): Promise<'done' | 'index dropped'> {
  const job = { stream, zone, priority: 'backfill', ordering: unknownOrdering, mayGoOn: () => false } as const
  async function unsee(): Promise<'done' | 'index dropped'> {
    await using session = await takeStream(job, deps)
    if (await deps.store.ledger.isIndexDropped(stream)) return 'index dropped'
    const keys = await deps.store.deadLetters.keys(stream)
    const seen = createSeenWindow(deps.store.ledger, stream).pack(keys.map(seenAs))
    await session.commit(countRepair(unread(session.checkpoint(), keys.length)), { seen, unsee: 'all' })
    return 'done'
  }
  return retryWhileHeld(unsee, deps, signal)
}

/**
 * The checkpoint as if nothing but the dead letters had been shipped. What the scans before have shown of the listing
 * stays, but not where they were: their events would otherwise count as late, or as missed by the polls.
 */
function unread(before: Checkpoint, deadLetters: number): Checkpoint {
  const { full: _1, incremental: _2, lastFull: _3, lastIncremental: _4, ended: _5, ...rest } = before
  const { pages, events, duplicates, late } = before.counters
  return {
    ...rest,
    storedCursors: [],
    mark: [],
    newSinceFull: 0,
    pollPagesSinceFull: 0,
    settleRepeats: 0,
    needsFull: true,
    counters: { pages, events, delivered: 0, duplicates, late, deadLetters },
  }
}
