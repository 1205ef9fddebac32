import { expect, it } from 'vitest'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import { HeldCheckpoints } from '../../src/plan/held-checkpoints.ts'
import { buildCheckpoint, today } from '../domain/builders.ts'

const of = (zone: number): Checkpoint => buildCheckpoint({ stream: { zone, day: today, sink: 'archive' } })

it('names a route whose checkpoint changed, also where the stream of another route was removed meanwhile', () => {
  const held = new HeldCheckpoints()
  const [first, second, third] = [of(1), of(2), of(3)]
  held.update([first, second, third])
  const changed = of(1)
  expect(held.update([changed, third])).toEqual(new Set(['1/archive', '2/archive']))
  expect([held.of('1/archive'), held.of('2/archive'), held.of('3/archive')]).toEqual([[changed], [], [third]])
})

it('names no route while the list stays the same', () => {
  const held = new HeldCheckpoints()
  const list = [of(1), of(2)]
  held.update(list)
  expect(held.update([...list])).toEqual(new Set())
})
