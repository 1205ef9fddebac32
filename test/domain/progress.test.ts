import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import type { CommittedPart } from '../../src/domain/delivery.ts'
import type { PageFacts } from '../../src/domain/page-facts.ts'
import { afterPage, dropStoredCursors, dropSweeps, stepOf, sweepFor } from '../../src/domain/progress.ts'
import { mergeCommitted } from '../../src/domain/committed-parts.ts'
import type { Sweep } from '../../src/domain/sweep.ts'
import type { Trust } from '../../src/domain/trust.ts'
import {
  at,
  buildCheckpoint,
  buildFacts,
  buildRecord,
  buildSweep,
  cursorAt,
  minuteMs,
  policy,
} from './builders.ts'

const nothing = { delivered: 0, deadLetters: 0, late: 0, committed: [], isTimeDoubtful: false }
const oldestFirst: Trust = { order: 'oldest-first', cursorProven: false, withdrawals: 0 }
const newestFirst: Trust = { order: 'newest-first', cursorProven: false, withdrawals: 0 }

function commit(before: Checkpoint, sweep: Sweep, facts: Partial<PageFacts>, nowMs = at(3)): Checkpoint {
  const page = buildFacts({ cursor: sweep.cursor, ...facts })
  return afterPage(before, stepOf(before, sweep, page, policy), page, nothing, nowMs, policy)
}

const last = { more: false, next: null }
const read = (more: Partial<Checkpoint> = {}) => buildCheckpoint({ lastFull: buildRecord(), ...more })

describe('a stored cursor', () => {
  const partial = buildSweep({ kind: 'partial', cursor: cursorAt('tail'), fromStoredCursor: true })

  it('has proved itself when a sweep that began there found something', () => {
    const before = read({ trust: oldestFirst })
    expect(commit(before, partial, last).trust.cursorProven).toBe(false)
    const after = commit(before, partial, { ...last, unseen: 1 })
    expect(after.trust.cursorProven).toBe(true)
    expect(after.caughtUpAtMs).toBe(partial.beganAtMs)
  })

  it('does not count for lag before it has', () => {
    expect(commit(read({ trust: oldestFirst }), partial, last).caughtUpAtMs).toBeUndefined()
  })

  it('proves nothing beside an unfinished full sweep, whose frozen snapshot it may name', () => {
    const before = read({ trust: oldestFirst, full: buildSweep({ cursor: cursorAt(7), pages: 7 }) })
    const after = commit(before, partial, { ...last, unseen: 5 })
    expect(after.trust.cursorProven).toBe(false)
    expect(after.caughtUpAtMs).toBeUndefined()
  })

  it('that has expired takes the others and the partial sweep along, and nothing else', () => {
    const full = buildSweep({ cursor: cursorAt(7), pages: 7 })
    const before = read({ full, partial, storedCursors: [{ cursor: cursorAt('tail'), newestMs: at(1) }] })
    const { partial: _, ...rest } = before
    expect(dropStoredCursors(before)).toEqual({ ...rest, storedCursors: [] })
  })

  it('is where a partial sweep of an oldest-first listing begins, and of no other', () => {
    const storedCursors = [{ cursor: cursorAt('tail'), newestMs: at(1) }]
    const before = read({
      trust: oldestFirst,
      storedCursors,
      lastFull: buildRecord({ newestAtBeginMs: at(2) }),
    })
    const due = { kind: 'partial', atMs: 0 } as const
    expect(sweepFor(before, due, at(3), policy)).toMatchObject({ cursor: 'tail', fromStoredCursor: true })
    const other = { ...before, trust: newestFirst }
    expect(sweepFor(other, due, at(3), policy)).toMatchObject({ cursor: null, fromStoredCursor: false })
    expect(sweepFor(before, { kind: 'full', atMs: 0 }, at(3), policy)).toMatchObject({ cursor: null })
  })
})

describe('a full sweep', () => {
  const missing = (count: number) => Array.from({ length: count }, (_, index) => at(1) + index)
  const trusted = read({
    trust: newestFirst,
    lastPartial: buildRecord({ beganAtMs: at(2.5) }),
    partial: buildSweep({ kind: 'partial', cursor: cursorAt(1), pages: 1 }),
    caughtUpAtMs: at(2.5),
    newSinceFull: 10,
  })
  const full = buildSweep({ beganAtMs: at(2), overlapStartMs: at(0) })

  it('that finds what partial ones missed takes trust, their readings and what they claimed', () => {
    const facts = { ...last, unseen: 5, unseenTimesMs: missing(5), latestMs: at(2), markMet: true }
    const after = commit(trusted, full, facts)
    expect(after.trust).toEqual({ order: 'unknown', cursorProven: false, withdrawals: 1 })
    expect(after.caughtUpAtMs).toBe(at(2))
    expect(after.partial).toBeUndefined()
    expect(after.lastPartial).toBeUndefined()
  })

  it('that finds what came lately leaves trust, and takes nothing back', () => {
    const facts = { ...last, unseen: 5, unseenTimesMs: missing(5).map((timeMs) => timeMs + 90 * minuteMs) }
    const after = commit(trusted, full, facts)
    expect(after.trust).toEqual(newestFirst)
    expect(after.caughtUpAtMs).toBe(at(2.5))
    expect(after.partial).toEqual(trusted.partial)
  })

  it('that finds what came late, and was not there when the previous one began, leaves trust', () => {
    const late = Array.from({ length: 5 }, (_, index) => at(0.5) + index)
    const before = { ...trusted, lastFull: buildRecord({ newestAtBeginMs: at(1) }) }
    expect(commit(before, full, { ...last, unseen: 5, unseenTimesMs: late }).trust).toEqual(newestFirst)
    const onTime = late.map((timeMs) => timeMs + 30 * minuteMs)
    expect(commit(before, full, { ...last, unseen: 5, unseenTimesMs: onTime }).trust.withdrawals).toBe(1)
  })

  it('that is the first one gives no trust, since everything on it is new', () => {
    expect(commit(buildCheckpoint(), full, { ...last, unseen: 50 }).trust.order).toBe('unknown')
  })

  it('takes no caught-up time from a clock that was ahead', () => {
    const after = commit(read({ caughtUpAtMs: at(500) }), full, last)
    expect(after.caughtUpAtMs).toBe(at(2))
  })

  it('that ended incomplete leaves no sweep, and calls for another full one', () => {
    const before = read({
      full: buildSweep({ pages: 5, cursor: cursorAt('x') }),
      partial: buildSweep({ kind: 'partial' }),
    })
    const after = commit(before, before.full!, { next: null })
    expect(after).toEqual({ ...dropSweeps(after), needsFull: true })
    expect(after.full).toBeUndefined()
    expect(after.lastFull).toEqual(before.lastFull)
    const whole = commit(after, buildSweep({ beganAtMs: at(2.5) }), last)
    expect(whole.needsFull).toBe(false)
  })

  it('of a day closes it only when it began after the last point', () => {
    const early = commit(read(), buildSweep({ beganAtMs: at(68) - 1 }), last, at(69))
    expect(early.ended).toBeUndefined()
    expect(commit(read(), buildSweep({ beganAtMs: at(68) }), last, at(69)).ended).toEqual({
      as: 'closed',
      atMs: at(69),
    })
  })

  it('that began, by a clock that was ahead, later than now claims no more than the one before it', () => {
    const after = commit(read(), buildSweep({ beganAtMs: at(200) }), last, at(69))
    expect(after.lastFull?.beganAtMs).toBe(buildRecord().beganAtMs)
    expect(after.ended).toBeUndefined()
  })

  it('closes no day by a time that nothing confirms', () => {
    const facts = buildFacts(last)
    const step = stepOf(read(), buildSweep({ beganAtMs: at(70) }), facts, policy)
    const doubtful = afterPage(read(), step, facts, { ...nothing, isTimeDoubtful: true }, at(71), policy)
    expect(doubtful.ended).toBeUndefined()
    expect(afterPage(read(), step, facts, nothing, at(71), policy).ended).toMatchObject({ as: 'closed' })
  })

  it('by a wish leaves a day closed that is', () => {
    const ended = { as: 'closed', atMs: at(69) } as const
    const after = commit(
      read({ ended }),
      buildSweep({ beganAtMs: at(70), wish: 'w' }),
      { ...last, unseen: 3 },
      at(71),
    )
    expect(after.ended).toEqual(ended)
    expect(after.lastFull?.wish).toBe('w')
  })
})

describe('an unfinished sweep', () => {
  it('goes on where it was, in whichever pump', () => {
    const before = read({ trust: newestFirst, full: buildSweep({ cursor: cursorAt(3), pages: 3 }) })
    const stored = JSON.parse(JSON.stringify(before)) as Checkpoint
    expect(stored).toEqual(before)
    expect(sweepFor(stored, { kind: 'full', atMs: 0 }, at(9), policy)).toEqual(before.full)
  })

  it('ends a passing trouble with its next page, and one with the listing only when it is complete', () => {
    const trouble = {
      kind: 'retry',
      code: 'network',
      message: '',
      count: 2,
      sinceMs: 1,
      atMs: 1,
      retryAtMs: 2,
    } as const
    const guarded = { ...trouble, kind: 'refuse', code: 'sweep_guarded' } as const
    expect(commit(read({ trouble }), buildSweep(), {}).trouble).toBeUndefined()
    expect(commit(read({ trouble: guarded }), buildSweep(), {}).trouble).toEqual(guarded)
    expect(commit(read({ trouble: guarded }), buildSweep(), last).trouble).toBeUndefined()
  })
})

describe('committed', () => {
  const committedPart: fc.Arbitrary<CommittedPart> = fc.record({
    writer: fc.constantFrom('w1', 'w2'),
    part: fc.constantFrom('1-w1', '2-w1', '1-w2', '2-w2'),
    bytes: fc.nat(),
    lines: fc.nat(),
  })
  const committed = fc.uniqueArray(committedPart, { selector: ({ part }) => part })

  it('are merged: one for each part, the changed ones as they are now', () => {
    fc.assert(
      fc.property(committed, committed, (held, changed) => {
        const merged = mergeCommitted(held, changed)
        const model = new Map([...held, ...changed].map((each) => [each.part, each]))
        expect(new Map(merged.map((each) => [each.part, each]))).toEqual(model)
        expect(merged).toHaveLength(model.size)
      }),
    )
  })
})
