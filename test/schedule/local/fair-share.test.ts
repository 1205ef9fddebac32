import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { sharesIn, takeNext } from '../../../src/schedule/local/pump-loop.ts'
import { sharesOf } from '../../../src/schedule/pumping.ts'
import { plannedStream, streamOf } from '../../contract/schedule/planned.ts'

const names = (count: number) => Array.from({ length: count }, (_, index) => `sink-${index}`)

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

test('the first stream whose sink has a free place is next; none while all places are taken', () => {
  const queue = ['a', 'a', 'a', 'b', 'b'].map((sink, zone) => plannedStream(streamOf(zone, sink), 'live', 0))
  const backfill = plannedStream(streamOf(9, 'a'), 'backfill', 0)
  const places = { live: 3, backfill: 1 }
  const rooms = { places, shares: sharesIn(places, [...queue, backfill]) }
  const running = []
  for (let next; (next = takeNext(queue, running, rooms)) !== undefined;) running.push(next)
  expect(running.map(({ stream }) => stream.zone)).toEqual([0, 1, 3])
  expect(queue.map(({ stream }) => stream.zone)).toEqual([2, 4])
  expect(takeNext([...queue, backfill], running, rooms)).toBe(backfill)
  expect(takeNext(queue, [], rooms)?.stream.zone).toBe(2)
})
