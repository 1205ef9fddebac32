import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createOrder, reversed } from '../../../src/simulator/entries/order.ts'

const batches = fc.array(fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 12 }), { maxLength: 8 })

test('equals sorting everything by key and number, at every size', () => {
  fc.assert(
    fc.property(batches, (arrivals) => {
      const keys: number[] = []
      const order = createOrder((seq) => keys[seq] ?? -1)
      for (const batch of arrivals) {
        keys.push(...batch)
        order.growTo(keys.length)
        const expected = keys.map((_, seq) => seq).sort((a, b) => (keys[a] ?? 0) - (keys[b] ?? 0) || a - b)
        expect(seqsOf(order)).toEqual(expected)
        expect(seqsOf(reversed(order))).toEqual(expected.toReversed())
        for (const one of [order, reversed(order)]) {
          for (const [position, seq] of seqsOf(one).entries())
            expect(one.positionAfter(seq)).toBe(position + 1)
        }
      }
    }),
  )
})

test('a frozen order never changes when entries arrive', () => {
  fc.assert(
    fc.property(batches, fc.nat(30), (arrivals, count) => {
      const keys = arrivals.flat()
      const order = createOrder((seq) => keys[seq] ?? -1)
      const held = Math.min(count, keys.length)
      order.growTo(held)
      const before = seqsOf(order)
      for (let size = held; size <= keys.length; size++) {
        order.growTo(size)
        const frozen = order.frozenAt(held)
        expect(seqsOf(frozen)).toEqual(before)
        for (const [position, seq] of before.entries()) expect(frozen.positionAfter(seq)).toBe(position + 1)
      }
    }),
  )
})

function seqsOf(order: { readonly length: number; seqAt(position: number): number }): number[] {
  return Array.from({ length: order.length }, (_, position) => order.seqAt(position))
}
