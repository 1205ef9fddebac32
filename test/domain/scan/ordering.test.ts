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

/** Of a listing so short that scans of both orders read all of it. */
function everywhere({ found }: { found: number }) {
  return { found, foundAtTail: found, foundAtHead: found }
}

function judged(scans: readonly ReturnType<typeof everywhere>[], from: Ordering = unknownOrdering) {
  let ordering = from
  for (const scan of scans) ordering = confirmOrdering(ordering, scan)
  return ordering
}

describe('ordering', () => {
  it('is confirmed by three events at least, of which 95 % lie where one order shows them and not the other', () => {
    fc.assert(
      fc.property(fc.oneof(evidence, evidence.map(everywhere)), (scan) => {
        const { found, foundAtTail, foundAtHead } = scan
        const [tail, head] = [foundAtTail >= found * 0.95, foundAtHead >= found * 0.95]
        const isShown = found >= 3 && tail !== head
        expect(judged([scan]).order).toBe(!isShown ? 'unknown' : tail ? 'oldest-first' : 'newest-first')
        const ordering: Ordering = { order: 'newest-first', cursorProven: true, revocations: 1 }
        expect(judged([scan], ordering), 'only a full scan revokes one').toEqual(ordering)
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
    const newestFirst = { order: 'newest-first', cursorProven: false } as const
    expect(inheritOrdering({ ...newestFirst, revocations: 1 })).toEqual({ ...newestFirst, revocations: 0 })
    const lost = { ...unknownOrdering, revocations: 2, evidence: everywhere({ found: 1 }) }
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
