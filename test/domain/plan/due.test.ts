import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import { dueAt, nextDue } from '../../../src/domain/plan/due.ts'
import type { Ordering } from '../../../src/domain/scan/ordering.ts'
import { at, buildCheckpoint, buildRecord, buildScan, cursorAt, hourMs, policy, stream } from '../builders.ts'
import { runTimeline } from '../timeline.ts'

const newestFirst: Ordering = { order: 'newest-first', cursorProven: false, revocations: 0 }
const oldestFirst: Ordering = { order: 'oldest-first', cursorProven: true, revocations: 0 }

function read(more: Partial<Checkpoint> = {}): Checkpoint {
  return buildCheckpoint({ lastFull: buildRecord(), lastCommitAtMs: at(1) + 1_000, ...more })
}

describe('an open stream', () => {
  it('gets a full scan at once if it was never read, or if a scan ended incomplete', () => {
    expect(nextDue({ stream, checkpoint: undefined }, at(5), policy)).toEqual({ kind: 'full', atMs: at(0) })
    const broken = read({ needsFull: true, ordering: newestFirst })
    expect(nextDue({ stream, checkpoint: broken }, at(5), policy)).toEqual({
      kind: 'full',
      atMs: broken.lastCommitAtMs,
    })
  })

  it.each([
    ['not sooner than everySeconds', 1_000, policy.everyMs],
    ['not sooner than five times what the last one took', 40_000, 200_000],
  ])('without ordering gets full scans, %s', (_, tookMs, afterMs) => {
    const checkpoint = read({ lastFull: buildRecord({ tookMs }) })
    expect(nextDue({ stream, checkpoint }, at(5), policy)).toEqual({ kind: 'full', atMs: at(1) + afterMs })
  })

  it('with ordering is polled where new events are expected, and gets a full scan after an hour', () => {
    const polled = read({
      ordering: newestFirst,
      pollPagesSinceFull: 40,
      lastIncremental: buildRecord({ beganAtMs: at(1.5) }),
    })
    expect(nextDue({ stream, checkpoint: polled }, at(1.5), policy)).toEqual({
      kind: 'incremental',
      atMs: at(1.5) + policy.everyMs,
    })
    const lately = { ...polled, lastIncremental: buildRecord({ beganAtMs: at(2.1) - 1 }) }
    expect(nextDue({ stream, checkpoint: lately }, at(2.1), policy)).toEqual({ kind: 'full', atMs: at(2) })
  })

  it('gets no further full scan before polls have made four times as many requests', () => {
    const polled = read({
      ordering: newestFirst,
      pollPagesSinceFull: 39,
      lastIncremental: buildRecord({ beganAtMs: at(9) }),
    })
    expect(nextDue({ stream, checkpoint: polled }, at(9), policy).kind).toBe('incremental')
  })

  it('without a usable cursor gets full scans, at the pace of a stream without ordering', () => {
    const checkpoint = read({ ordering: oldestFirst, lastFull: buildRecord({ tookMs: 60_000 }) })
    expect(nextDue({ stream, checkpoint }, at(9), policy)).toEqual({ kind: 'full', atMs: at(1) + 300_000 })
    const short = { ...checkpoint, lastFull: buildRecord({ tookMs: 60_000, pages: 3 }) }
    expect(nextDue({ stream, checkpoint: short }, at(9), policy)).toEqual({
      kind: 'full',
      atMs: at(1) + policy.everyMs,
    })
  })

  it('keeps the pace of a stream without ordering until a stored cursor has worked', () => {
    const unproven = read({
      ordering: { ...oldestFirst, cursorProven: false },
      lastFull: buildRecord({ newestAtBeginMs: at(1) }),
      storedCursors: [{ cursor: cursorAt('old'), newestMs: at(0.5) }],
      lastIncremental: buildRecord({ beganAtMs: at(1.5) - 1, newestAtBeginMs: at(1) }),
      lastPage: 'incremental',
    })
    expect(nextDue({ stream, checkpoint: unproven }, at(1.5), policy)).toEqual({
      kind: 'full',
      atMs: at(1) + policy.everyMs,
    })
  })
})

describe('polls and re-reads that compete', () => {
  const load = fc.record({
    fullPages: fc.integer({ min: 1, max: 200 }),
    incrementalPages: fc.integer({ min: 1, max: 12 }),
    pageMs: fc.integer({ min: 500, max: 20_000 }),
    everyMs: fc.integer({ min: 10_000, max: 120_000 }),
    order: fc.constantFrom(newestFirst, oldestFirst, { ...oldestFirst, cursorProven: false }),
  })

  it('both get their turn', () => {
    fc.assert(
      fc.property(load, ({ fullPages, incrementalPages, pageMs, everyMs, order }) => {
        const { pages, checkpoint } = runTimeline({
          checkpoint: read({
            ordering: order,
            newestMs: at(1),
            lastFull: buildRecord({ newestAtBeginMs: at(1) }),
            storedCursors: [{ cursor: cursorAt('old'), newestMs: 0 }],
          }),
          policy: { ...policy, everyMs },
          fromMs: at(1) + 1_000,
          untilMs: at(9),
          pagesOf: (kind) => (kind === 'full' ? fullPages : incrementalPages),
          pageMs,
          factsOf: () => ({ newestMs: at(1), latestMs: at(1) }),
        })
        // A poll begins at its time, or after the page under way and one more of a full scan. A full scan that ends
        // is a poll as well.
        const polls = pages.filter(({ kind, last }) => kind === 'incremental' || last)
        const longest = Math.max(0, ...polls.slice(1).map((page, index) => page.atMs - polls[index]!.atMs))
        if (polls.length > 1) expect(longest).toBeLessThanOrEqual(everyMs + 3 * pageMs)
        // And full scans end, in the time that their share of the requests takes.
        const requests = pages.length
        if (requests > 15 * fullPages + 100) expect(checkpoint.lastFull!.beganAtMs).toBeGreaterThan(at(1))
      }),
      { numRuns: 25 },
    )
  })

  it('share the requests of a confirmed stream: re-reads use at most a fifth', () => {
    fc.assert(
      fc.property(load, ({ fullPages, incrementalPages, pageMs, everyMs }) => {
        const { pages } = runTimeline({
          checkpoint: read({ ordering: newestFirst, lastFull: buildRecord({ pages: fullPages }) }),
          policy: { ...policy, everyMs },
          fromMs: at(1) + 1_000,
          untilMs: at(9),
          pagesOf: (kind) => (kind === 'full' ? fullPages : incrementalPages),
          pageMs,
        })
        const full = pages.filter(({ kind }) => kind === 'full').length
        expect(full).toBeLessThanOrEqual(pages.length / 5 + 1)
      }),
      { numRuns: 25 },
    )
  })

  it('use at most a fifth of the time if every scan is full', () => {
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
  ])('that had a full scan at %d h is due at %d h', (beganAt, dueAtHours) => {
    const checkpoint = read({ lastFull: buildRecord({ beganAtMs: at(beganAt) }) })
    expect(nextDue({ stream, checkpoint }, at(69), policy)).toEqual({ kind: 'full', atMs: at(dueAtHours) })
  })

  it.each([
    { found: 2, after: 'ten minutes', dueInMs: 600_000 },
    {
      found: 0,
      after: 'as often as an open day: it waits for the clock of the host',
      dueInMs: policy.fullScanMs,
    },
  ])('that is not complete after its last scan, which found $found, is read again: $after', (last) => {
    const lastFull = buildRecord({ beganAtMs: at(68.5), found: last.found })
    const due = nextDue({ stream, checkpoint: read({ lastFull }) }, at(69), policy)
    expect(due).toEqual({ kind: 'full', atMs: at(68.5) + last.dueInMs })
  })

  it('is read once for several passed settle times', () => {
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

  it('is complete after at most three repeats, ten minutes apart, however many events appear', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 3 }), { minLength: 8, maxLength: 8 }), (founds) => {
        let scans = 0
        const { pages, checkpoint } = runTimeline({
          checkpoint: read({ lastFull: buildRecord({ beganAtMs: at(60) }) }),
          policy,
          fromMs: at(67),
          untilMs: at(75),
          pagesOf: () => 1,
          pageMs: 1_000,
          factsOf: () => ({ unseen: founds[scans++] ?? 0 }),
        })
        const quiet = founds.slice(0, 3).findIndex((found) => found === 0)
        expect(pages).toHaveLength(quiet === -1 ? 4 : quiet + 1)
        expect(pages.slice(1).every((page, index) => page.atMs - pages[index]!.atMs >= 600_000)).toBe(true)
        expect(checkpoint.ended).toMatchObject({ as: 'complete' })
        expect(nextDue({ stream, checkpoint }, at(80), policy).atMs).toBe(Infinity)
      }),
    )
  })

  it('serves every settle time with a scan that began after it', () => {
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

describe('a read request', () => {
  const readRequest = { id: 'w' }

  it('is due at once, and is served by a full scan that began for it', () => {
    const checkpoint = read({ ended: { as: 'complete', atMs: at(69) } })
    expect(nextDue({ stream, checkpoint }, at(70), policy)).toMatchObject({ atMs: Infinity })
    expect(nextDue({ stream, checkpoint, readRequest }, at(70), policy)).toEqual({
      kind: 'full',
      atMs: at(0),
    })
    const served = { ...checkpoint, lastRequest: { id: 'w', outcome: 'done' } } as const
    expect(nextDue({ stream, checkpoint: served, readRequest }, at(70), policy).atMs).toBe(Infinity)
    expect(nextDue({ stream, checkpoint: served, readRequest: { id: 'other' } }, at(70), policy).atMs).toBe(
      at(0),
    )
  })
})

describe('a checkpoint written with a clock that was ahead', () => {
  const ahead = at(24 * 30)

  it.each([
    ['the last commit', { needsFull: true, lastCommitAtMs: ahead }],
    ['a full scan', { lastFull: buildRecord({ beganAtMs: ahead }) }],
    ['an incremental scan', { ordering: newestFirst, lastIncremental: buildRecord({ beganAtMs: ahead }) }],
    [
      'a page of a scan',
      { ordering: newestFirst, full: buildScan({ beganAtMs: ahead, pages: 1 }), lastCommitAtMs: ahead },
    ],
  ])('does not prevent reading the stream: %s', (_, more) => {
    expect(nextDue({ stream, checkpoint: read(more) }, at(5), policy).atMs).toBeLessThanOrEqual(at(5))
  })

  it('does not keep a back-off alive', () => {
    const trouble = { kind: 'retry', code: 'network', message: '', count: 3, sinceMs: at(1) } as const
    const failed = read({
      trouble: { ...trouble, atMs: ahead, retryAtMs: ahead + 60_000 },
      lastCommitAtMs: at(5),
    })
    const due = nextDue({ stream, checkpoint: failed }, at(5), policy)
    expect(dueAt(due, failed.trouble, at(5))).toBe(due.atMs)
    const now = read({ trouble: { ...trouble, atMs: at(5), retryAtMs: at(6) }, lastCommitAtMs: at(5) })
    expect(dueAt(nextDue({ stream, checkpoint: now }, at(5), policy), now.trouble, at(5))).toBe(at(6))
  })
})
