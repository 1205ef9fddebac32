import type { Day } from '../../domain/day.ts'
import type { DeadLetter, DeadLetterCount, RefusalReason } from '../../domain/event/delivery.ts'
import type { Event, Identity } from '../../domain/event/event.ts'
import { isFailure, messageOf } from '../../domain/failure.ts'
import { streamKey, type Stream, type Zone } from '../../domain/stream.ts'
import type { AnySink } from '../../ports/delivery.ts'
import type { Store } from '../../ports/store.ts'
import type { PumpDeps } from '../../pump/session.ts'
import { dropDeadLetters, wakeFullStreams } from './drop.ts'
import { replayStream, type ReplayedPage } from './replay.ts'

/** Dead letters of one stream at the time of the request. */
export interface DeadLetterGroup {
  readonly stream: Stream
  readonly counts: readonly DeadLetterCount[]
  readonly keys: readonly Identity[]
}

/** The same of dead letters that were read, for a selection that counts do not know. */
export function groupsOf(deadLetters: readonly DeadLetter[]): DeadLetterGroup[] {
  return [...Map.groupBy(deadLetters, (each) => streamKey(streamOf(each))).values()].map((own) => {
    const stream = streamOf(own[0]!)
    const counts = [...Map.groupBy(own, ({ reason }) => reason)].map(([reason, some]) => ({
      ...stream,
      reason,
      count: some.length,
      bytes: some.reduce((sum, { event }) => sum + event.length, 0),
    }))
    return { stream, counts, keys: own.map(({ id, time }) => ({ id, ...(time !== undefined && { time }) })) }
  })
}

function streamOf({ zone, day, sink }: DeadLetter): Stream {
  return { zone, day: day as Day, sink }
}

type ReasonCounts = ReadonlyMap<RefusalReason, number>

/** Result of a replay for one sink. */
export interface SinkReplay {
  readonly sink: string
  readonly delivered: number
  /** Refused again, by the new reason. */
  readonly refused: ReasonCounts
  /** Settled by another process meanwhile, or by an earlier replay that was killed before it recorded that. */
  readonly gone: number
  /** Not tried, or tried with an unknown result: they stay as they were. */
  readonly left: number
  /** Why it stopped early; absent where it did not. */
  readonly error?: string
}

const notConfigured = 'it is not configured; add it to the configuration, or drop them'

interface ReplayOfSink {
  readonly sink: string
  readonly groups: readonly DeadLetterGroup[]
  readonly progressed: (done: number) => void
}

/** What a change of dead letters works with. */
export interface DeadLetterWork {
  readonly deps: PumpDeps
  readonly sinks: ReadonlyMap<string, AnySink>
  /** Why nothing may be shipped to a sink. */
  readonly held: ReadonlyMap<string, string>
  readonly zoneOf: (id: number) => Zone
  /** Maps a stored event by the present configuration. */
  readonly redo: (event: Event) => Event
}

/** The streams of these counts, with the keys of their dead letters. */
export async function groupsOfCounts(
  counts: readonly DeadLetterCount[],
  { deadLetters }: Pick<Store, 'deadLetters'>,
): Promise<DeadLetterGroup[]> {
  const groups: DeadLetterGroup[] = []
  for (const own of Map.groupBy(counts, streamKey).values()) {
    const { zone, day, sink } = own[0]!
    const stream = { zone, day, sink }
    groups.push({ stream, counts: own, keys: await deadLetters.keys(stream) })
  }
  return groups
}

/** Continues with the next sink when one fails; ends early when it is stopped. Throws the Failures of a store. */
export async function replayDeadLetters(
  groups: readonly DeadLetterGroup[],
  over: DeadLetterWork,
  progressed: (done: number) => void,
  signal: AbortSignal,
): Promise<SinkReplay[]> {
  const results: SinkReplay[] = []
  for (const [sink, own] of Map.groupBy(groups, ({ stream }) => stream.sink))
    results.push({ sink, ...(await replaySink({ sink, groups: own, progressed }, over, signal)) })
  await wake(over, signal)
  return results
}

/** Returns how many of each sink were dropped, by reason. Throws Failure. */
export async function dropAll(
  groups: readonly DeadLetterGroup[],
  over: Pick<DeadLetterWork, 'deps' | 'zoneOf'>,
  signal: AbortSignal,
): Promise<{ sink: string; counts: ReasonCounts }[]> {
  const results: { sink: string; counts: ReasonCounts }[] = []
  const { deps, zoneOf } = over
  for (const [sink, own] of Map.groupBy(groups, ({ stream }) => stream.sink)) {
    const counts = new Map<RefusalReason, number>()
    for (const { stream, keys } of own)
      for (const [reason, count] of await dropDeadLetters(
        { stream, zone: zoneOf(stream.zone), keys },
        deps,
        signal,
      ))
        counts.set(reason, (counts.get(reason) ?? 0) + count)
    results.push({ sink, counts })
  }
  await wake(over, signal)
  return results
}

/** Streams that waited for room go on after the change. */
async function wake(
  { deps, zoneOf }: Pick<DeadLetterWork, 'deps' | 'zoneOf'>,
  signal: AbortSignal,
): Promise<void> {
  if (!signal.aborted) await wakeFullStreams(deps, zoneOf, signal)
}

async function replaySink(
  { sink: name, groups, progressed }: ReplayOfSink,
  { deps, sinks, held, zoneOf, redo }: DeadLetterWork,
  signal: AbortSignal,
): Promise<Omit<SinkReplay, 'sink'>> {
  let [delivered, gone, left] = [0, 0, 0]
  for (const { keys } of groups) left += keys.length
  const refused = new Map<RefusalReason, number>()
  const sink = sinks.get(name)
  if (sink === undefined) return { delivered, refused, gone, left, error: notConfigured }
  const why = held.get(name)
  if (why !== undefined) return { delivered, refused, gone, left, error: why }
  const done = (page: ReplayedPage) => {
    left -= page.tried
    delivered += page.delivered
    gone += page.tried - page.delivered - page.kept.length
    for (const { reason } of page.kept) refused.set(reason, (refused.get(reason) ?? 0) + 1)
    progressed(page.tried)
  }
  try {
    for (const { stream, keys } of groups) {
      const job = { stream, zone: zoneOf(stream.zone), sink, redo, keys, done }
      await replayStream(job, deps, signal)
    }
    return { delivered, refused, gone, left }
  } catch (error) {
    if (!isFailure(error) || error.code === 'store_unavailable' || error.code === 'store_refuses') throw error
    return { delivered, refused, gone, left, error: signal.aborted ? 'stopped' : messageOf(error) }
  }
}
