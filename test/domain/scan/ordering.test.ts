import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  confirmOrdering,
  inheritOrdering,
  unknownOrdering,
  incrementalsCount,
  testOrdering,
  type Ordering,
} from '../../../src/domain/scan/ordering.ts'
import { buildScan } from '../builders.ts'

const evidence = fc
  .record({
    found: fc.nat({ max: 60 }),
    tail: fc.double({ min: 0, max: 1, noNaN: true }),
    head: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ found, tail, head }) => ({
    found,
    foundAtTail: Math.round(found * tail),
    foundAtHead: Math.round(found * head),
  }))

function judged(
  scans: readonly { found: number; foundAtTail: number; foundAtHead: number }[],
  from: Ordering = unknownOrdering,
) {
  let ordering = from
  for (const scan of scans) ordering = confirmOrdering(ordering, scan)
  return ordering
}

describe('ordering', () => {
  it('is never confirmed for a listing with new events anywhere', () => {
    const anywhere = evidence.filter(
      ({ found, foundAtTail, foundAtHead }) => foundAtTail < found * 0.95 && foundAtHead < found * 0.95,
    )
    fc.assert(
      fc.property(fc.array(anywhere, { maxLength: 30 }), (scans) => {
        expect(judged(scans).order).toBe('unknown')
      }),
    )
  })

  it('is never confirmed by fewer than three events, nor if both orders would have read everything', () => {
    const everywhere = evidence.map(({ found }) => ({ found, foundAtTail: found, foundAtHead: found }))
    fc.assert(
      fc.property(fc.array(everywhere), fc.nat({ max: 2 }), (scans, found) => {
        expect(judged(scans).order).toBe('unknown')
        expect(judged([{ found, foundAtTail: found, foundAtHead: 0 }]).order).toBe('unknown')
      }),
    )
  })

  it.each([
    ['oldest-first', { foundAtTail: 1, foundAtHead: 0 }],
    ['newest-first', { foundAtTail: 0, foundAtHead: 1 }],
  ])('is confirmed as %s by several scans that each found too few events', (order, at) => {
    const scan = { found: 1, ...at }
    expect(judged([scan, scan])).toMatchObject({ order: 'unknown' })
    expect(judged([scan, scan, scan])).toEqual({ order, cursorProven: false, revocations: 0 })
  })

  it('stays confirmed whatever is found later: only a full scan revokes it', () => {
    fc.assert(
      fc.property(fc.array(evidence), (scans) => {
        const ordering: Ordering = { order: 'newest-first', cursorProven: true, revocations: 1 }
        expect(judged(scans, ordering)).toEqual(ordering)
      }),
    )
  })

  it('is revoked by two missed events that are more than a twentieth of the new ones, and not by less', () => {
    const ordering: Ordering = { order: 'oldest-first', cursorProven: true, revocations: 0 }
    fc.assert(
      fc.property(fc.nat({ max: 50 }), fc.nat({ max: 1000 }), (missed, news) => {
        const fails = missed >= 2 && missed > news * 0.05
        const tested = testOrdering(ordering, buildScan({ missed }), news)
        expect(tested).toEqual(fails ? { order: 'unknown', cursorProven: false, revocations: 1 } : ordering)
      }),
    )
  })

  it('stays unknown for the stream after it was revoked twice', () => {
    const proof = { found: 10, foundAtTail: 10, foundAtHead: 0 }
    const lost = (ordering: Ordering) => testOrdering(ordering, buildScan({ missed: 5 }), 5)
    const once = lost(judged([proof]))
    const twice = lost(judged([proof], once))
    expect(judged([proof], once).order).toBe('oldest-first')
    expect(judged([proof, proof], twice)).toMatchObject({ order: 'unknown', revocations: 2 })
  })

  it('is inherited by the next day, which may lose it twice again', () => {
    expect(inheritOrdering({ order: 'newest-first', cursorProven: false, revocations: 1 })).toEqual({
      order: 'newest-first',
      cursorProven: false,
      revocations: 0,
    })
    const lost: Ordering = {
      ...unknownOrdering,
      revocations: 2,
      evidence: { found: 1, foundAtTail: 1, foundAtHead: 0 },
    }
    expect(inheritOrdering(lost)).toEqual(unknownOrdering)
  })

  it.each([
    ['newest-first', false, true],
    ['oldest-first', true, true],
    ['oldest-first', false, false],
    ['unknown', true, false],
  ] as const)(
    'as %s with proven cursors %s makes incremental scans count: %s',
    (order, cursorProven, counts) => {
      expect(incrementalsCount({ order, cursorProven, revocations: 0 })).toBe(counts)
    },
  )
})
