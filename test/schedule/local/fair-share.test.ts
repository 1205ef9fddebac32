import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Day } from '../../../src/domain/day.ts'
import type { PlannedStream } from '../../../src/domain/plan/plan.ts'
import { unknownOrdering } from '../../../src/domain/scan/ordering.ts'
import { sharesOf } from '../../../src/schedule/fair-share.ts'
import { createPool } from '../../../src/schedule/local/pool.ts'
import { takeNext } from '../../../src/schedule/local/take-next.ts'

const day = '2026-11-20' as Day

function planned(zone: number, sink: string): PlannedStream {
  return {
    stream: { zone, day, sink },
    zone: { id: zone, name: String(zone), account: 'default' },
    checkpoint: undefined,
    state: 'open',
    priority: 'live',
    dueAtMs: 0,
    wantedAtMs: 0,
    unreadableAtMs: 0,
    ordering: unknownOrdering,
  }
}

const names = (count: number) => Array.from({ length: count }, (_, index) => `sink-${index}`)

test('a single sink has all places', () => {
  expect([...sharesOf(8, ['archive'])]).toEqual([['archive', 8]])
})

test('sinks share all places evenly, and each has one at least', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 64 }), fc.integer({ min: 1, max: 64 }), (places, sinks) => {
      const shares = [...sharesOf(places, names(sinks)).values()]
      expect(shares).toHaveLength(sinks)
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1)
      expect(shares.reduce((sum, share) => sum + share, 0)).toBe(Math.max(places, sinks))
    }),
  )
})

test('the first stream whose sink has a free place is next; none while all places are taken', async () => {
  const held = Promise.withResolvers<void>()
  const pool = createPool(() => 3)
  const queue = [planned(1, 'a'), planned(2, 'a'), planned(3, 'a'), planned(4, 'b'), planned(5, 'b')]
  const shares = new Map([
    ['a', 2],
    ['b', 2],
  ])
  const started: number[] = []
  for (let next; (next = takeNext(queue, pool, shares)) !== undefined;) {
    started.push(next.stream.zone)
    pool.run(String(next.stream.zone), next.stream.sink, () => held.promise)
  }
  expect(started).toEqual([1, 2, 4])
  expect(queue.map(({ stream }) => stream.zone)).toEqual([3, 5])
  held.resolve()
  await pool.drained()
  expect(takeNext(queue, pool, shares)?.stream.zone).toBe(3)
})
