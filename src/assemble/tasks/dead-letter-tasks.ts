import type { DeadLetterCount } from '../../domain/event/dead-letter-count.ts'
import type { DeadLetter, RefusalReason } from '../../domain/event/delivery.ts'
import type { Identity } from '../../domain/event/event.ts'
import type { Day } from '../../domain/day.ts'
import { streamKey, type Stream } from '../../domain/stream.ts'

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

export type ReasonCounts = ReadonlyMap<RefusalReason, number>

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

/** Replays and drops dead letters, with or without a running process. */
export interface DeadLetterTasks {
  /** All of them, oldest first. */
  list(): Promise<DeadLetter[]>
  /** Counts by stream and reason; none where nothing was ever shipped. */
  counts(): Promise<DeadLetterCount[]>
  /** The streams of these counts, with the keys of their dead letters. */
  groups(counts: readonly DeadLetterCount[]): Promise<DeadLetterGroup[]>
  /** Continues with the next sink when one fails; ends early when it is stopped. Throws the Failures of a store. */
  replay(
    groups: readonly DeadLetterGroup[],
    progressed: (sink: string, done: number) => void,
    signal: AbortSignal,
  ): Promise<SinkReplay[]>
  /** Throws Failure. */
  drop(
    groups: readonly DeadLetterGroup[],
    signal: AbortSignal,
  ): Promise<{ sink: string; counts: ReasonCounts }[]>
}
