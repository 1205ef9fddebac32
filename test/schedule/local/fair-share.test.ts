import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { Pool } from '../../../src/schedule/local/pump-loop.ts'
import { sharesOf } from '../../../src/schedule/pumping.ts'
import { plannedStream, streamOf } from '../../contract/schedule/planned.ts'

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
  const pool = new Pool()
  const queue = ['a', 'a', 'a', 'b', 'b'].map((sink, zone) => plannedStream(streamOf(zone, sink), 'live', 0))
  const backfill = plannedStream(streamOf(9, 'a'), 'backfill', 0)
  const take = pool.taker({ live: 3, backfill: 1 }, [...queue, backfill])
  const started: number[] = []
  for (let next; (next = take(queue)) !== undefined;) {
    started.push(next.stream.zone)
    pool.run(next, () => held.promise)
  }
  expect(started).toEqual([0, 1, 3])
  expect(queue.map(({ stream }) => stream.zone)).toEqual([2, 4])
  expect(take([...queue, backfill])).toBe(backfill)
  held.resolve()
  await pool.drained()
  expect(take(queue)?.stream.zone).toBe(2)
})
