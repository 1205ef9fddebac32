import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Day } from '../../../src/domain/day.ts'
import type { PlannedStream } from '../../../src/domain/plan.ts'
import { noTrust } from '../../../src/domain/trust.ts'
import { countSinks, shareOfSink } from '../../../src/schedule/fair-share.ts'
import { createPool } from '../../../src/schedule/local/pool.ts'
import { takeNext } from '../../../src/schedule/local/take-next.ts'

const day = '2026-11-20' as Day

function planned(zone: number, sink: string): PlannedStream {
  return {
    stream: { zone, day, sink },
    zone: { id: zone, name: String(zone), account: 'default' },
    checkpoint: undefined,
    state: 'open',
    lane: 'live',
    dueAtMs: 0,
    wantedAtMs: 0,
    unreadableAtMs: 0,
    trust: noTrust,
  }
}

function ofSinks(count: number): PlannedStream[] {
  return Array.from({ length: count }, (_, index) => planned(1, `sink-${index}`))
}

test('a sink alone has all places', () => {
  expect(shareOfSink(8, countSinks(ofSinks(1)))).toBe(8)
})

test('whichever sinks hang, all but one of them leave a place free, as long as there are as many places', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 64 }), fc.integer({ min: 2, max: 64 }), (places, sinks) => {
      fc.pre(sinks <= places)
      const share = shareOfSink(places, countSinks(ofSinks(sinks)))
      expect(share).toBeGreaterThanOrEqual(1)
      expect(share * (sinks - 1)).toBeLessThan(places)
    }),
  )
})

test('the first stream whose sink has a place is taken; none while all places are held', async () => {
  const held = Promise.withResolvers<void>()
  const pool = createPool(() => 3)
  const queue = [planned(1, 'a'), planned(2, 'a'), planned(3, 'a'), planned(4, 'b'), planned(5, 'b')]
  const started: number[] = []
  for (let next = takeNext(queue, pool, 2); next !== undefined; next = takeNext(queue, pool, 2)) {
    started.push(next.stream.zone)
    pool.run(String(next.stream.zone), next.stream.sink, () => held.promise)
  }
  expect(started).toEqual([1, 2, 4])
  expect(queue.map(({ stream }) => stream.zone)).toEqual([3, 5])
  held.resolve()
  await pool.drained()
  expect(takeNext(queue, pool, 2)?.stream.zone).toBe(3)
})
