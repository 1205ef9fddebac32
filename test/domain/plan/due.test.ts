import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import { dueAt, nextDue } from '../../../src/domain/plan/due.ts'
import type { Ordering } from '../../../src/domain/scan/ordering.ts'
import {
  at,
  buildCheckpoint,
  buildRecord,
  buildScan,
  buildTrouble,
  cursorAt,
  hourMs,
  policy,
  stream,
} from '../builders.ts'
import { runTimeline } from '../timeline.ts'

const newestFirst: Ordering = { order: 'newest-first', cursorProven: false, revocations: 0 }
const oldestFirst: Ordering = { order: 'oldest-first', cursorProven: true, revocations: 0 }

function read(more: Partial<Checkpoint> = {}): Checkpoint {
  return buildCheckpoint({ lastFull: buildRecord(), lastCommitAtMs: at(1) + 1_000, ...more })
}

const polled = read({
  ordering: newestFirst,
  pollPagesSinceFull: 40,
  lastIncremental: buildRecord({ beganAtMs: at(1.5) }),
})
const withoutCursor = read({ ordering: oldestFirst, lastFull: buildRecord({ tookMs: 60_000 }) })
const unproven = read({
  ordering: { ...oldestFirst, cursorProven: false },
  lastFull: buildRecord({ newestAtBeginMs: at(1) }),
  storedCursors: [{ cursor: cursorAt('old'), newestMs: at(0.5) }],
  lastIncremental: buildRecord({ beganAtMs: at(1.5) - 1, newestAtBeginMs: at(1) }),
  lastPage: 'incremental',
})

test('a sink with a pace of its own is polled at that pace, the others at that of all', () => {
  const paced = { ...policy, everyMsOf: new Map([[stream.sink, 300_000]]) }
  const began = polled.lastIncremental!.beganAtMs
  for (const [sink, everyMs] of [
    [stream.sink, 300_000],
    ['other', policy.everyMs],
  ] as const) {
    const checkpoint = { ...polled, stream: { ...stream, sink }, pollPagesSinceFull: 0 }
    const due = nextDue({ stream: checkpoint.stream, checkpoint }, began + 1_000, paced)
    expect(due).toEqual({ kind: 'incremental', atMs: began + everyMs })
  }
})

test.each<[string, Checkpoint | undefined, hours: number, kind: string, atMs: number]>([
  ['was never read: at once', undefined, 5, 'full', at(0)],
  [
    'had a scan that ended incomplete',
    read({ needsFull: true, ordering: newestFirst }),
    5,
    'full',
    at(1) + 1_000,
  ],
  ['has no ordering: not sooner than everySeconds', read(), 5, 'full', at(1) + policy.everyMs],
  [
    'has no ordering: not sooner than five times what the last scan took',
    read({ lastFull: buildRecord({ tookMs: 40_000 }) }),
    5,
    'full',
    at(1) + 200_000,
  ],
  ['has one: polled where new events are expected', polled, 1.5, 'incremental', at(1.5) + policy.everyMs],
  [
    'has one, and an hour has passed',
    { ...polled, lastIncremental: buildRecord({ beganAtMs: at(2.1) - 1 }) },
    2.1,
    'full',
    at(2),
  ],
  [
    'has one, and polls have not yet made four times as many requests',
    { ...polled, pollPagesSinceFull: 39, lastIncremental: buildRecord({ beganAtMs: at(9) }) },
    9,
    'incremental',
    at(9) + policy.everyMs,
  ],
  ['has no usable cursor: as without ordering', withoutCursor, 9, 'full', at(1) + 300_000],
  [
    'has no usable cursor, but is short',
    { ...withoutCursor, lastFull: buildRecord({ tookMs: 60_000, pages: 3 }) },
    9,
    'full',
    at(1) + policy.everyMs,
  ],
  ['has a stored cursor that has not worked yet: as without', unproven, 1.5, 'full', at(1) + policy.everyMs],
])('the next scan of an open stream that %s', (_, checkpoint, hours, kind, atMs) => {
  expect(nextDue({ stream, checkpoint }, at(hours), policy)).toEqual({ kind, atMs })
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
      { numRuns: 12 },
    )
  })

  it('share the requests or the time: re-reads use at most a fifth', () => {
    fc.assert(
      fc.property(load, fc.boolean(), ({ fullPages, incrementalPages, pageMs, everyMs }, isConfirmed) => {
        const tookMs = fullPages * pageMs
        const { pages } = runTimeline({
          checkpoint: read({
            ...(isConfirmed && { ordering: newestFirst }),
            lastFull: buildRecord({ pages: fullPages, tookMs }),
          }),
          policy: { ...policy, everyMs },
          fromMs: at(1) + tookMs,
          untilMs: at(9),
          pagesOf: (kind) => (kind === 'full' ? fullPages : incrementalPages),
          pageMs,
        })
        const full = pages.filter(({ kind }) => kind === 'full').length
        if (isConfirmed) expect(full).toBeLessThanOrEqual(pages.length / 5 + 1)
        else expect(full * pageMs).toBeLessThanOrEqual((8 * hourMs) / 5 + tookMs)
      }),
      { numRuns: 12 },
    )
  })
})

describe('a stream whose day has ended', () => {
  it.each([
    [1, 24.5],
    [24.4, 24.5],
    [24.5, 30],
    [31, 48],
    [50, 68],
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
})

it('a read request is due at once, and is served by a full scan that began for it', () => {
  const readRequest = { id: 'w' }
  const checkpoint = read({ ended: { as: 'complete', atMs: at(69) } })
  const served = { ...checkpoint, lastRequest: { id: 'w', outcome: 'done' } } as const
  const dueAtMs = (facts: Partial<Parameters<typeof nextDue>[0]>) =>
    nextDue({ stream, checkpoint, ...facts }, at(70), policy).atMs
  expect(dueAtMs({})).toBe(Infinity)
  expect(dueAtMs({ readRequest })).toBe(at(0))
  expect(dueAtMs({ readRequest, checkpoint: served })).toBe(Infinity)
  expect(dueAtMs({ readRequest: { id: 'other' }, checkpoint: served })).toBe(at(0))
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
    const failed = read({
      trouble: buildTrouble({ atMs: ahead, retryAtMs: ahead + 60_000 }),
      lastCommitAtMs: at(5),
    })
    const due = nextDue({ stream, checkpoint: failed }, at(5), policy)
    expect(dueAt(due, failed.trouble, at(5))).toBe(due.atMs)
    const now = read({ trouble: buildTrouble({ atMs: at(5), retryAtMs: at(6) }), lastCommitAtMs: at(5) })
    expect(dueAt(nextDue({ stream, checkpoint: now }, at(5), policy), now.trouble, at(5))).toBe(at(6))
  })
})
