import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dropScans, type Checkpoint } from '../../../src/domain/checkpoint.ts'
import { mergeCommitted, type CommittedPart } from '../../../src/domain/event/delivery.ts'
import type { PageFacts } from '../../../src/domain/scan/page.ts'
import { afterPage, afterPart, scanFor } from '../../../src/domain/scan/progress.ts'
import type { Scan } from '../../../src/domain/scan/scan.ts'
import type { Ordering } from '../../../src/domain/scan/ordering.ts'
import {
  at,
  buildCheckpoint,
  buildFacts,
  buildRecord,
  buildScan,
  buildTrouble,
  cursorAt,
  minuteMs,
  policy,
} from '../builders.ts'

const oldestFirst: Ordering = { order: 'oldest-first', cursorProven: false, revocations: 0 }
const newestFirst: Ordering = { order: 'newest-first', cursorProven: false, revocations: 0 }

function commit(before: Checkpoint, scan: Scan, facts: Partial<PageFacts>, nowMs = at(3)): Checkpoint {
  const page = buildFacts({ cursor: scan.cursor, ...facts })
  return afterPage(before, scan, page, { nowMs, sureMs: Infinity }, policy).after
}

const last = { more: false, next: null }
const read = (more: Partial<Checkpoint> = {}) => buildCheckpoint({ lastFull: buildRecord(), ...more })

describe('a stored cursor', () => {
  const incremental = buildScan({ kind: 'incremental', cursor: cursorAt('tail'), fromStoredCursor: true })

  it('has worked, and counts for lag, when a scan that began there found a new event and met the mark', () => {
    const before = read({ ordering: oldestFirst, mark: ['a'] })
    const provesWith = (timeMs: number, owed: readonly string[] = []) => {
      const found = { ...last, unseen: 1, unseenTimesMs: [timeMs], owed: [...owed] }
      const { ordering, caughtUpAtMs } = commit(before, { ...incremental, owed: ['a'] }, found)
      expect(caughtUpAtMs).toBe(ordering.cursorProven ? incremental.beganAtMs : undefined)
      return ordering.cursorProven
    }
    expect(commit(before, incremental, last).ordering.cursorProven).toBe(false)
    const readMs = before.lastFull!.endedAtMs
    expect(provesWith(readMs + 1)).toBe(true)
    // The API may have hidden it from the full scan, and a frozen snapshot may show it.
    expect(provesWith(readMs)).toBe(false)
    expect(provesWith(at(4))).toBe(false)
    expect(provesWith(readMs + 1, ['a'])).toBe(false)
  })

  it('has not worked while a full scan is unfinished, since it may belong to a frozen snapshot', () => {
    const before = read({ ordering: oldestFirst, full: buildScan({ cursor: cursorAt(7), pages: 7 }) })
    const after = commit(before, incremental, { ...last, unseen: 5 })
    expect(after.ordering.cursorProven).toBe(false)
    expect(after.caughtUpAtMs).toBeUndefined()
  })

  it('is the start of an incremental scan of an oldest-first listing, and of no other', () => {
    const storedCursors = [{ cursor: cursorAt('tail'), newestMs: at(1) }]
    const before = read({
      ordering: oldestFirst,
      storedCursors,
      lastFull: buildRecord({ newestAtBeginMs: at(2) }),
    })
    const startOf = (checkpoint: Checkpoint, kind: 'full' | 'incremental') =>
      scanFor({ checkpoint, kind }, { nowMs: at(3), sureMs: at(3) }, policy).cursor
    expect(startOf(before, 'incremental')).toBe('tail')
    expect(startOf({ ...before, ordering: newestFirst }, 'incremental')).toBeNull()
    expect(startOf(before, 'full')).toBeNull()
  })
})

describe('a full scan', () => {
  const missing = (count: number) => Array.from({ length: count }, (_, index) => at(1) + index)
  const confirmed = read({
    ordering: newestFirst,
    lastIncremental: buildRecord({ beganAtMs: at(2.5) }),
    incremental: buildScan({ kind: 'incremental', cursor: cursorAt(1), pages: 1 }),
    caughtUpAtMs: at(2.5),
    newSinceFull: 10,
  })
  const full = buildScan({ beganAtMs: at(2), overlapStartMs: at(0) })

  it('that finds events that incremental ones missed revokes the ordering and discards their results', () => {
    const facts = { ...last, unseen: 5, unseenTimesMs: missing(5), latestMs: at(2), markMet: true }
    const after = commit(confirmed, full, facts)
    expect(after.ordering).toEqual({ order: 'unknown', cursorProven: false, revocations: 1 })
    expect(after.caughtUpAtMs).toBe(at(2))
    expect(after.incremental).toBeUndefined()
    expect(after.lastIncremental).toBeUndefined()
  })

  it('that finds recent events keeps the ordering, and discards nothing', () => {
    const facts = { ...last, unseen: 5, unseenTimesMs: missing(5).map((timeMs) => timeMs + 90 * minuteMs) }
    const after = commit(confirmed, full, facts)
    expect(after.ordering).toEqual(newestFirst)
    expect(after.caughtUpAtMs).toBe(at(2.5))
    expect(after.incremental).toEqual(confirmed.incremental)
  })

  it('that finds late events, which the previous one could not see, keeps the ordering', () => {
    const late = Array.from({ length: 5 }, (_, index) => at(0.5) + index)
    const before = { ...confirmed, lastFull: buildRecord({ newestAtBeginMs: at(1) }) }
    expect(commit(before, full, { ...last, unseen: 5, unseenTimesMs: late }).ordering).toEqual(newestFirst)
    const onTime = late.map((timeMs) => timeMs + 30 * minuteMs)
    expect(commit(before, full, { ...last, unseen: 5, unseenTimesMs: onTime }).ordering.revocations).toBe(1)
  })

  it('that is the first one confirms no ordering, since all of its events are new', () => {
    expect(commit(buildCheckpoint(), full, { ...last, unseen: 50 }).ordering.order).toBe('unknown')
  })

  it('ignores a caught-up time from a clock that was ahead', () => {
    const after = commit(read({ caughtUpAtMs: at(500) }), full, last)
    expect(after.caughtUpAtMs).toBe(at(2))
  })

  it('that ended incomplete is discarded, and another full one is due', () => {
    const before = read({
      full: buildScan({ pages: 5, cursor: cursorAt('x') }),
      incremental: buildScan({ kind: 'incremental' }),
    })
    const after = commit(before, before.full!, { next: null })
    expect(after).toEqual({ ...dropScans(after), needsFull: true })
    expect(after.full).toBeUndefined()
    expect(after.lastFull).toEqual(before.lastFull)
    const whole = commit(after, buildScan({ beganAtMs: at(2.5) }), last)
    expect(whole.needsFull).toBe(false)
  })

  it.each<[string, beganAt: number, sureMs: number | undefined, ended: boolean]>([
    ['that began before the last settle time makes no day complete', at(68) - 1, Infinity, false],
    ['that began after it does', at(68), Infinity, true],
    ['does not by an unconfirmed time', at(68), undefined, false],
    ['does not with a start in the future', at(200), Infinity, false],
  ])('%s', (_, beganAtMs, sureMs, ended) => {
    const scan = buildScan({ beganAtMs })
    const { after } = afterPage(read(), scan, buildFacts(last), { nowMs: at(69), sureMs }, policy)
    expect(after.ended).toEqual(ended ? { as: 'complete', atMs: at(69) } : undefined)
    expect(after.lastFull?.beganAtMs).toBe(beganAtMs > at(69) ? at(1) : beganAtMs)
  })

  it('by a read request leaves a complete day complete', () => {
    const ended = { as: 'complete', atMs: at(69) } as const
    const after = commit(
      read({ ended }),
      buildScan({ beganAtMs: at(70), readRequest: 'w' }),
      { ...last, unseen: 3 },
      at(71),
    )
    expect(after.ended).toEqual(ended)
    expect(after.lastFull?.readRequest).toBe('w')
  })
})

describe('an unfinished scan', () => {
  it('continues where it stopped, in any pump', () => {
    const before = read({ ordering: newestFirst, full: buildScan({ cursor: cursorAt(3), pages: 3 }) })
    const stored = JSON.parse(JSON.stringify(before)) as Checkpoint
    expect(stored).toEqual(before)
    expect(scanFor({ checkpoint: stored, kind: 'full' }, { nowMs: at(9), sureMs: at(9) }, policy)).toEqual(
      before.full,
    )
  })

  it('ends a temporary failure with its next page, and a failure of the listing only when it is complete', () => {
    const trouble = buildTrouble()
    const guarded = buildTrouble({ code: 'scan_guarded' })
    expect(commit(read({ trouble }), buildScan(), {}).trouble).toBeUndefined()
    expect(commit(read({ trouble: guarded }), buildScan(), {}).trouble).toEqual(guarded)
    expect(commit(read({ trouble: guarded }), buildScan(), last).trouble).toBeUndefined()
  })

  it('of an archive is no evidence of the listing, whether a page is shipped whole or in part', () => {
    const before = read({ newSinceFull: 3, listed: 4 })
    const scan = buildScan({ kind: 'archive' })
    expect(commit(before, scan, { unseen: 5, fresh: 5 })).toMatchObject({ newSinceFull: 3, listed: 4 })
    expect(afterPart(before, scan, [{ timeMs: at(1), fingerprint: 7n }], policy)).toEqual(before)
  })

  it('of an archive ends the failure of its request, and none of the polls', () => {
    const trouble = buildTrouble()
    const requestTrouble = { ...buildTrouble(), request: 'a' }
    const after = commit(read({ trouble, requestTrouble }), buildScan({ kind: 'archive' }), {})
    expect(after).toMatchObject({ trouble, requestTrouble: undefined })
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

  it('are merged: one for each part, with the latest values', () => {
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
