import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import { dueAt, nextDue } from '../../src/domain/due.ts'
import type { Trust } from '../../src/domain/trust.ts'
import { at, buildCheckpoint, buildRecord, buildSweep, cursorAt, hourMs, policy, stream } from './builders.ts'
import { runTimeline } from './timeline.ts'

const newestFirst: Trust = { order: 'newest-first', cursorProven: false, withdrawals: 0 }
const oldestFirst: Trust = { order: 'oldest-first', cursorProven: true, withdrawals: 0 }

function read(more: Partial<Checkpoint> = {}): Checkpoint {
  return buildCheckpoint({ lastFull: buildRecord(), lastCommitAtMs: at(1) + 1_000, ...more })
}

describe('an open stream', () => {
  it('is read as a whole at once when it was never read, or when a sweep ended incomplete', () => {
    expect(nextDue(stream, undefined, at(5), policy)).toEqual({ kind: 'full', atMs: at(0) })
    const broken = read({ needsFull: true, trust: newestFirst })
    expect(nextDue(stream, broken, at(5), policy)).toEqual({ kind: 'full', atMs: broken.lastCommitAtMs })
  })

  it.each([
    ['not sooner than everySeconds', 1_000, policy.everyMs],
    ['not sooner than five times what the last one took', 40_000, 200_000],
  ])('without trust is read as a whole, %s', (_, tookMs, afterMs) => {
    const checkpoint = read({ lastFull: buildRecord({ tookMs }) })
    expect(nextDue(stream, checkpoint, at(5), policy)).toEqual({ kind: 'full', atMs: at(1) + afterMs })
  })

  it('with trust is polled where new events are expected, and read as a whole after an hour', () => {
    const polled = read({
      trust: newestFirst,
      pollPagesSinceFull: 40,
      lastPartial: buildRecord({ beganAtMs: at(1.5) }),
    })
    expect(nextDue(stream, polled, at(1.5), policy)).toEqual({
      kind: 'partial',
      atMs: at(1.5) + policy.everyMs,
    })
    const lately = { ...polled, lastPartial: buildRecord({ beganAtMs: at(2.1) - 1 }) }
    expect(nextDue(stream, lately, at(2.1), policy)).toEqual({ kind: 'full', atMs: at(2) })
  })

  it('is not read as a whole again before polls have made four times as many requests', () => {
    const polled = read({
      trust: newestFirst,
      pollPagesSinceFull: 39,
      lastPartial: buildRecord({ beganAtMs: at(9) }),
    })
    expect(nextDue(stream, polled, at(9), policy).kind).toBe('partial')
  })

  it('that no stored cursor opens is read as a whole, at the pace of a stream without trust', () => {
    const checkpoint = read({ trust: oldestFirst, lastFull: buildRecord({ tookMs: 60_000 }) })
    expect(nextDue(stream, checkpoint, at(9), policy)).toEqual({ kind: 'full', atMs: at(1) + 300_000 })
    const short = { ...checkpoint, lastFull: buildRecord({ tookMs: 60_000, pages: 3 }) }
    expect(nextDue(stream, short, at(9), policy)).toEqual({ kind: 'full', atMs: at(1) + policy.everyMs })
  })

  it('keeps the pace of a stream without trust while a stored cursor has not proved itself', () => {
    const unproven = read({
      trust: { ...oldestFirst, cursorProven: false },
      lastFull: buildRecord({ newestAtBeginMs: at(1) }),
      storedCursors: [{ cursor: cursorAt('old'), newestMs: at(0.5) }],
      lastPartial: buildRecord({ beganAtMs: at(1.5) - 1, newestAtBeginMs: at(1) }),
      lastPage: 'partial',
    })
    expect(nextDue(stream, unproven, at(1.5), policy)).toEqual({ kind: 'full', atMs: at(1) + policy.everyMs })
  })
})

describe('polls and re-reads that compete', () => {
  const load = fc.record({
    fullPages: fc.integer({ min: 1, max: 200 }),
    partialPages: fc.integer({ min: 1, max: 12 }),
    pageMs: fc.integer({ min: 500, max: 20_000 }),
    everyMs: fc.integer({ min: 10_000, max: 120_000 }),
    order: fc.constantFrom(newestFirst, oldestFirst, { ...oldestFirst, cursorProven: false }),
  })

  it('starve neither', () => {
    fc.assert(
      fc.property(load, ({ fullPages, partialPages, pageMs, everyMs, order }) => {
        const { pages, checkpoint } = runTimeline({
          checkpoint: read({
            trust: order,
            newestMs: at(1),
            lastFull: buildRecord({ newestAtBeginMs: at(1) }),
            storedCursors: [{ cursor: cursorAt('old'), newestMs: 0 }],
          }),
          policy: { ...policy, everyMs },
          fromMs: at(1) + 1_000,
          untilMs: at(9),
          pagesOf: (kind) => (kind === 'full' ? fullPages : partialPages),
          pageMs,
          factsOf: () => ({ newestMs: at(1), latestMs: at(1) }),
        })
        // A poll begins at its time, or after the page under way and one more of a full sweep. A full sweep that ends
        // is a poll as well.
        const polls = pages.filter(({ kind, last }) => kind === 'partial' || last)
        const longest = Math.max(0, ...polls.slice(1).map((page, index) => page.atMs - polls[index]!.atMs))
        if (polls.length > 1) expect(longest).toBeLessThanOrEqual(everyMs + 3 * pageMs)
        // And full sweeps end, in the time that their share of the requests takes.
        const requests = pages.length
        if (requests > 15 * fullPages + 100) expect(checkpoint.lastFull!.beganAtMs).toBeGreaterThan(at(1))
      }),
      { numRuns: 25 },
    )
  })

  it('share the requests of a trusted stream: at most a fifth are for re-reads', () => {
    fc.assert(
      fc.property(load, ({ fullPages, partialPages, pageMs, everyMs }) => {
        const { pages } = runTimeline({
          checkpoint: read({ trust: newestFirst, lastFull: buildRecord({ pages: fullPages }) }),
          policy: { ...policy, everyMs },
          fromMs: at(1) + 1_000,
          untilMs: at(9),
          pagesOf: (kind) => (kind === 'full' ? fullPages : partialPages),
          pageMs,
        })
        const full = pages.filter(({ kind }) => kind === 'full').length
        expect(full).toBeLessThanOrEqual(pages.length / 5 + 1)
      }),
      { numRuns: 25 },
    )
  })

  it('leave four fifths of the time alone where every sweep is full', () => {
    fc.assert(
      fc.property(load, ({ fullPages, pageMs, everyMs }) => {
        const { pages } = runTimeline({
          checkpoint: read({ lastFull: buildRecord({ tookMs: fullPages * pageMs }) }),
          policy: { ...policy, everyMs },
          fromMs: at(1) + fullPages * pageMs,
          untilMs: at(9),
          pagesOf: () => fullPages,
          pageMs,
        })
        expect(pages.length * pageMs).toBeLessThanOrEqual((8 * hourMs) / 5 + fullPages * pageMs)
      }),
      { numRuns: 25 },
    )
  })
})

describe('a stream whose day has ended', () => {
  const points = [24.5, 30, 48, 68]

  it.each([
    [1, 24.5],
    [24.4, 24.5],
    [24.5, 30],
    [31, 48],
    [67.9, 68],
  ])('that was read as a whole at %d h is due at %d h', (beganAt, dueAtHours) => {
    const checkpoint = read({ lastFull: buildRecord({ beganAtMs: at(beganAt) }) })
    expect(nextDue(stream, checkpoint, at(69), policy)).toEqual({ kind: 'full', atMs: at(dueAtHours) })
  })

  it('is read once for several times that have passed', () => {
    const { pages } = runTimeline({
      checkpoint: read(),
      policy,
      fromMs: at(50),
      untilMs: at(80),
      pagesOf: () => 1,
      pageMs: 1_000,
    })
    expect(pages.map(({ atMs }) => Math.round((atMs - at(0)) / hourMs))).toEqual([50, 68])
  })

  it('closes after three repeats at most, ten minutes apart, however much turns up', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 3 }), { minLength: 8, maxLength: 8 }), (founds) => {
        let sweeps = 0
        const { pages, checkpoint } = runTimeline({
          checkpoint: read({ lastFull: buildRecord({ beganAtMs: at(60) }) }),
          policy,
          fromMs: at(67),
          untilMs: at(75),
          pagesOf: () => 1,
          pageMs: 1_000,
          factsOf: () => ({ unseen: founds[sweeps++] ?? 0 }),
        })
        const quiet = founds.slice(0, 3).findIndex((found) => found === 0)
        expect(pages).toHaveLength(quiet === -1 ? 4 : quiet + 1)
        expect(pages.slice(1).every((page, index) => page.atMs - pages[index]!.atMs >= 600_000)).toBe(true)
        expect(checkpoint.ended).toMatchObject({ as: 'closed' })
        expect(nextDue(stream, checkpoint, at(80), policy).atMs).toBe(Infinity)
      }),
    )
  })

  it('serves every point with a sweep that began after it', () => {
    const { pages } = runTimeline({
      checkpoint: read(),
      policy,
      fromMs: at(24),
      untilMs: at(72),
      pagesOf: () => 50,
      pageMs: 2_000,
    })
    const began = pages
      .filter((_, index) => index === 0 || pages[index - 1]!.last)
      .map(({ atMs }) => atMs - 2_000)
    for (const point of points)
      expect(began.some((atMs) => atMs >= at(point) && atMs < at(point) + 120_000)).toBe(true)
  })
})

describe('a wish', () => {
  const wish = { id: 'w' }

  it('waits for no pace, and is served by a full sweep that began for it', () => {
    const checkpoint = read({ ended: { as: 'closed', atMs: at(69) } })
    expect(nextDue(stream, checkpoint, at(70), policy)).toMatchObject({ atMs: Infinity })
    expect(nextDue(stream, checkpoint, at(70), policy, wish)).toEqual({ kind: 'full', atMs: at(0) })
    const served = { ...checkpoint, lastRequest: { id: 'w', outcome: 'done' } } as const
    expect(nextDue(stream, served, at(70), policy, wish).atMs).toBe(Infinity)
    expect(nextDue(stream, served, at(70), policy, { id: 'other' }).atMs).toBe(at(0))
  })
})

describe('what was written under a clock that was ahead', () => {
  const ahead = at(24 * 30)

  it.each([
    ['the last commit', { needsFull: true, lastCommitAtMs: ahead }],
    ['a full sweep', { lastFull: buildRecord({ beganAtMs: ahead }) }],
    ['a partial sweep', { trust: newestFirst, lastPartial: buildRecord({ beganAtMs: ahead }) }],
    [
      'a page of a sweep',
      { trust: newestFirst, full: buildSweep({ beganAtMs: ahead, pages: 1 }), lastCommitAtMs: ahead },
    ],
  ])('does not keep a stream from being read: %s', (_, more) => {
    expect(nextDue(stream, read(more), at(5), policy).atMs).toBeLessThanOrEqual(at(5))
  })

  it('does not keep a back-off alive', () => {
    const trouble = { kind: 'retry', code: 'network', message: '', count: 3, sinceMs: at(1) } as const
    const failed = read({
      trouble: { ...trouble, atMs: ahead, retryAtMs: ahead + 60_000 },
      lastCommitAtMs: at(5),
    })
    const due = nextDue(stream, failed, at(5), policy)
    expect(dueAt(due, failed.trouble, at(5))).toBe(due.atMs)
    const now = read({ trouble: { ...trouble, atMs: at(5), retryAtMs: at(6) }, lastCommitAtMs: at(5) })
    expect(dueAt(nextDue(stream, now, at(5), policy), now.trouble, at(5))).toBe(at(6))
  })
})
