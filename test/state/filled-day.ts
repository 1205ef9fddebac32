import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { startOf } from '../../src/domain/day.ts'
import type { Stream } from '../../src/domain/stream.ts'
import type { Store } from '../../src/ports/store.ts'
import { buildCommit, buildHolder, buildStream } from '../contract/checkpoint-store/builders.ts'

export const holder = buildHolder('0d3b8c1e-1111-4222-8333-abcdefabcdef')
export const stream = buildStream()
export const firstMinute = startOf(stream.day) / 60_000

/** In which minute of the day the nth event lies. */
type MinuteAt = (event: number) => number

export const inOrder = (events: number) => (event: number) => Math.floor((event * 1440) / events)
export const newestFirst = (events: number) => (event: number) => 1439 - inOrder(events)(event)
/** Spreads 0, 1, 2 … over all the events, in an order that repeats and looks like none. */
export const scattered = (events: number) => (event: number) =>
  Math.floor((((event * 7_919) % events) * 1440) / events)

/** Commits one day of events. */
export async function fillDay(
  store: Store,
  of: Stream,
  events: number,
  minuteAt: MinuteAt,
  pageEvents = events > 100_000 ? 20_000 : 1_000,
): Promise<void> {
  const { fence, checkpoint } = await store.ledger.take(of, holder)
  let number = checkpoint?.commit ?? 0
  for (let from = 0; from < events; from += pageEvents) {
    const counts = new Map<number, number>()
    for (let event = from; event < Math.min(events, from + pageEvents); event++) {
      const minute = firstMinute + minuteAt(event)
      counts.set(minute, (counts.get(minute) ?? 0) + 1)
    }
    const seen = new Map([...counts].map(([minute, count]) => [minute, randomBytes(count * 8)] as const))
    expect(await store.ledger.commit(buildCommit(of, fence, number++, { seen }))).toBe('done')
  }
  await store.ledger.release(of, fence)
}
