import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  earnTrust,
  inheritTrust,
  noTrust,
  partialsCount,
  testTrust,
  type Trust,
} from '../../src/domain/trust.ts'
import { buildSweep } from './builders.ts'

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
  sweeps: readonly { found: number; foundAtTail: number; foundAtHead: number }[],
  from: Trust = noTrust,
) {
  let trust = from
  for (const sweep of sweeps) trust = earnTrust(trust, sweep)
  return trust
}

describe('trust', () => {
  it('is never given to a listing whose new events turn up anywhere', () => {
    const anywhere = evidence.filter(
      ({ found, foundAtTail, foundAtHead }) => foundAtTail < found * 0.95 && foundAtHead < found * 0.95,
    )
    fc.assert(
      fc.property(fc.array(anywhere, { maxLength: 30 }), (sweeps) => {
        expect(judged(sweeps).order).toBe('unknown')
      }),
    )
  })

  it('is never given for fewer than three events, nor where both orders would have looked everywhere', () => {
    const everywhere = evidence.map(({ found }) => ({ found, foundAtTail: found, foundAtHead: found }))
    fc.assert(
      fc.property(fc.array(everywhere), fc.nat({ max: 2 }), (sweeps, found) => {
        expect(judged(sweeps).order).toBe('unknown')
        expect(judged([{ found, foundAtTail: found, foundAtHead: 0 }]).order).toBe('unknown')
      }),
    )
  })

  it.each([
    ['oldest-first', { foundAtTail: 1, foundAtHead: 0 }],
    ['newest-first', { foundAtTail: 0, foundAtHead: 1 }],
  ])('is given as %s by several sweeps that each found too little', (order, at) => {
    const sweep = { found: 1, ...at }
    expect(judged([sweep, sweep])).toMatchObject({ order: 'unknown' })
    expect(judged([sweep, sweep, sweep])).toEqual({ order, cursorProven: false, withdrawals: 0 })
  })

  it('stays as it was given, whatever is found later: only a test takes it', () => {
    fc.assert(
      fc.property(fc.array(evidence), (sweeps) => {
        const trust: Trust = { order: 'newest-first', cursorProven: true, withdrawals: 1 }
        expect(judged(sweeps, trust)).toEqual(trust)
      }),
    )
  })

  it('is withdrawn by two missed events that are more than a twentieth of what is new, and by nothing less', () => {
    const trust: Trust = { order: 'oldest-first', cursorProven: true, withdrawals: 0 }
    fc.assert(
      fc.property(fc.nat({ max: 50 }), fc.nat({ max: 1000 }), (missed, news) => {
        const fails = missed >= 2 && missed > news * 0.05
        const tested = testTrust(trust, buildSweep({ missed }), news)
        expect(tested).toEqual(fails ? { order: 'unknown', cursorProven: false, withdrawals: 1 } : trust)
      }),
    )
  })

  it('is gone for the stream when it was withdrawn twice', () => {
    const proof = { found: 10, foundAtTail: 10, foundAtHead: 0 }
    const lost = (trust: Trust) => testTrust(trust, buildSweep({ missed: 5 }), 5)
    const once = lost(judged([proof]))
    const twice = lost(judged([proof], once))
    expect(judged([proof], once).order).toBe('oldest-first')
    expect(judged([proof, proof], twice)).toMatchObject({ order: 'unknown', withdrawals: 2 })
  })

  it('is inherited by another day as it is, which may lose it twice again', () => {
    expect(inheritTrust({ order: 'newest-first', cursorProven: false, withdrawals: 1 })).toEqual({
      order: 'newest-first',
      cursorProven: false,
      withdrawals: 0,
    })
    const lost: Trust = { ...noTrust, withdrawals: 2, evidence: { found: 1, foundAtTail: 1, foundAtHead: 0 } }
    expect(inheritTrust(lost)).toEqual(noTrust)
  })

  it.each([
    ['newest-first', false, true],
    ['oldest-first', true, true],
    ['oldest-first', false, false],
    ['unknown', true, false],
  ] as const)(
    'as %s with proven cursors %s makes partial sweeps count: %s',
    (order, cursorProven, counts) => {
      expect(partialsCount({ order, cursorProven, withdrawals: 0 })).toBe(counts)
    },
  )
})
