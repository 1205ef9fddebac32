import type { Event, Identity } from './event.ts'
import type { Failure } from '../failure.ts'
import type { Stream } from '../stream.ts'
import { sumOf } from '../text/terminal-text.ts'

export interface CommittedPart {
  /** Identity of the writer that appends to the part. */
  readonly writer: string
  /** File name without compression suffix, for example `0001-k3v9.ndjson`. */
  readonly part: string
  /** Of the uncompressed part. */
  readonly bytes: number
  readonly lines: number
}

export const refusalReasons = ['refused', 'too_large', 'unmappable'] as const
export type RefusalReason = (typeof refusalReasons)[number]

/** An event that the sink will never take. */
export interface Refusal {
  readonly event: Event
  readonly reason: RefusalReason
  /** At most 4 KiB, secrets masked. */
  readonly answer: string
}

export const skipReasons = ['too_old'] as const
export type SkipReason = (typeof skipReasons)[number]

/** An event that the destination takes from nobody any more: it is counted, and kept nowhere, since no replay helps. */
export interface Skip {
  readonly event: Event
  readonly reason: SkipReason
  readonly answer: string
}

/**
 * A sink's answer to a delivery. The sink is responsible for every event that is neither refused nor skipped; with
 * `partial`, only for the events in `partial.taken`.
 */
export interface Delivery {
  readonly refusals: readonly Refusal[]
  readonly skipped?: readonly Skip[]
  /** Parts whose committed length changes with this delivery; empty where the sink is not transactional. */
  readonly committed: readonly CommittedPart[]
  /** Bytes handed over, before compression. */
  readonly bytes: number
  /** Of the events that are not refused: those that the destination says it dropped, without saying which. */
  readonly lost?: number
  /**
   * Present when the sink has taken, refused or skipped some events only: it failed then, or it keeps the last ones
   * back, since they fill no body. The others must be delivered again.
   */
  readonly partial?: { readonly taken: readonly Event[]; readonly failure?: Failure | undefined }
  /** The numbered object that this delivery has used; absent where the sink writes none. */
  readonly object?: DeliveredObject
}

export interface DeliveredObject {
  readonly number: number
  /** As it is in the bucket; 0 where the bucket does not say. */
  readonly bytes: number
  /**
   * Present where an earlier try has written it: the fingerprints of all its events as they were when they were seen,
   * packed, by minute. `partial.taken` is empty then.
   */
  readonly adopted?: ReadonlyMap<number, Uint8Array>
}

/** The events of a delivery that the sink is responsible for. */
export function takenOf(events: readonly Event[], { refusals, skipped = [], partial }: Delivery) {
  if (partial !== undefined) return partial.taken
  if (refusals.length + skipped.length === 0) return events
  const others = new Set([...refusals, ...skipped].map(({ event }) => event))
  return events.filter((event) => !others.has(event))
}

/** An event that a sink will never take, as it is kept in the store until it is replayed or dropped. */
export interface DeadLetter extends Stream, Identity {
  readonly reason: RefusalReason
  readonly answer: string
  /** When it was refused, ms since the epoch. */
  readonly at: number
  /** The entry as received, redacted, as JSON text: a replay maps it anew. */
  readonly event: string
}

export function mergeCommitted(held: readonly CommittedPart[], changed: readonly CommittedPart[]) {
  if (changed.length === 0) return held
  const names = new Set(changed.map(({ part }) => part))
  return [...held.filter(({ part }) => !names.has(part)), ...changed]
}

/** Dead letters of one stream and reason. The stream's checkpoint may have been pruned. */
export interface DeadLetterCount extends Stream {
  readonly reason: RefusalReason
  readonly count: number
  readonly bytes: number
}

export type SinkDeadLetters = Pick<DeadLetterCount, 'sink' | 'reason' | 'count' | 'bytes'>

/** Sums the counts by sink and reason, sorted. */
export function bySink(counts: readonly DeadLetterCount[]): SinkDeadLetters[] {
  const groups = Map.groupBy(counts, ({ sink, reason }) => `${sink} ${reason}`)
  return [...groups.keys()].sort().map((key) => {
    const own = groups.get(key)!
    const { sink, reason } = own[0]!
    return { sink, reason, count: sumOf(own, 'count'), bytes: sumOf(own, 'bytes') }
  })
}
