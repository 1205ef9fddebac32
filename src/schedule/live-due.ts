import type { PlannedStream } from '../domain/plan/plan.ts'
import { streamKey } from '../domain/stream.ts'

/** A later plan includes what is due later. */
const horizonMs = 15_000
/** A sink without any commit for this long hangs: streams that wait for its places wait for no request. */
const hangsAfterMs = 20_000

export interface LiveDueOptions {
  /** The API's clock for the stream's account. */
  readonly now: (planned: PlannedStream) => number
  /** How long this process has been planning: streams that were due before could not begin. */
  readonly plannedForMs: number
  readonly dueAt: (planned: PlannedStream) => number
  /** Whether a stream is to begin: no pump works on it, and it does not rest. */
  readonly isToBegin: (planned: PlannedStream) => boolean
}

/**
 * By account, the live streams that are to begin, each with the ms until it is due. Each plan passes them to the
 * account gates, so that backfills wait for them. Streams that wait for a sink that hangs do not delay backfills.
 */
export function liveDue(
  planned: readonly PlannedStream[],
  { now: nowOf, plannedForMs, dueAt, isToBegin }: LiveDueOptions,
): Map<string, Map<string, number>> {
  const now = atOneInstant(nowOf)
  const accounts = new Set(planned.map(({ zone }) => zone.account))
  const due = new Map([...accounts].map((account) => [account, new Map<string, number>()]))
  let silentMs: Map<string, number> | undefined
  for (const each of planned) {
    // Never due before it is wanted: most streams are left at that.
    if (each.priority !== 'live' || each.wantedAtMs - now(each) > horizonMs) continue
    const inMs = dueAt(each) - now(each)
    if (inMs > horizonMs || !isToBegin(each)) continue
    silentMs ??= silenceOfSinks(planned, now)
    const waitedMs = Math.min(-inMs, plannedForMs, silentMs.get(each.stream.sink) ?? Infinity)
    if (waitedMs < hangsAfterMs) due.get(each.zone.account)?.set(streamKey(each.stream), inMs)
  }
  return due
}

/** Reads the clock of each account once, since thousands of streams ask for it. */
function atOneInstant(now: LiveDueOptions['now']): LiveDueOptions['now'] {
  const times = new Map<string, number>()
  return (planned) => {
    let nowMs = times.get(planned.zone.account)
    if (nowMs === undefined) {
      nowMs = now(planned)
      times.set(planned.zone.account, nowMs)
    }
    return nowMs
  }
}

/** Ms since the latest commit of each sink. */
function silenceOfSinks(planned: readonly PlannedStream[], now: LiveDueOptions['now']): Map<string, number> {
  const silentMs = new Map<string, number>()
  for (const each of planned) {
    const { sink } = each.stream
    if (each.checkpoint === undefined) continue
    const ms = now(each) - each.checkpoint.lastCommitAtMs
    silentMs.set(sink, Math.min(ms, silentMs.get(sink) ?? Infinity))
  }
  return silentMs
}
