import type { DeadLetterCount } from '../../domain/event/dead-letter-count.ts'
import type { RefusalReason } from '../../domain/event/delivery.ts'
import type { Identity } from '../../domain/event/event.ts'
import type { Stream } from '../../domain/stream.ts'

/** Dead letters of one stream, as they stood when they were asked for. */
export interface DeadLetterGroup {
  readonly stream: Stream
  readonly counts: readonly DeadLetterCount[]
  readonly keys: readonly Identity[]
}

export type ReasonCounts = ReadonlyMap<RefusalReason, number>

/** What a replay did for one sink. */
export interface SinkReplay {
  readonly sink: string
  readonly delivered: number
  /** Refused again, by the newer reason. */
  readonly refused: ReasonCounts
  /** Settled by somebody else meanwhile, or by a replay that was killed before it could say so. */
  readonly gone: number
  /** Not tried, or not told what became of them: they are kept as they were. */
  readonly left: number
  /** Why it ended before its end; absent where it did not. */
  readonly error?: string
}

/** Replays and drops dead letters, beside a running process or without one. */
export interface DeadLetterDesk {
  /** Counts by stream and reason; none where nothing was ever shipped. */
  counts(): Promise<DeadLetterCount[]>
  /** The streams of these counts, with whose dead letters they are. */
  groups(counts: readonly DeadLetterCount[]): Promise<DeadLetterGroup[]>
  /** Goes on with the next sink where one fails, and ends early when it is stopped. Throws the Failures of a store. */
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
