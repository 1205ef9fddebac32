import type { RefusalReason } from './delivery.ts'
import type { Stream } from '../stream.ts'

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
    let [count, bytes] = [0, 0]
    for (const each of own) {
      count += each.count
      bytes += each.bytes
    }
    return { sink, reason, count, bytes }
  })
}
