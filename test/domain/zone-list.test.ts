import { describe, expect, test } from 'vitest'
import { relist, isGone, isReadToItsEnd, type FoundZone } from '../../src/domain/zone-list.ts'
import { shiftDay } from '../../src/domain/day.ts'
import type { FailureCode } from '../../src/domain/failure.ts'
import { at, buildCheckpoint, buildTrouble, stream, today } from './builders.ts'

const listed = (...ids: number[]): FoundZone[] => ids.map((id) => ({ id, name: '' }))
const after = (nowMs: number, over: readonly number[] = [], elsewhere: readonly number[] = []) => ({
  nowMs,
  isOver: ({ id }: { id: number }) => over.includes(id),
  elsewhere: new Set(elsewhere),
})

const left = [{ id: 102, name: '', leftAtMs: 1 }]
const shop = [{ id: 101, name: 'shop' }]

test.each<[string, before: FoundZone[], listing: FoundZone[], now: ReturnType<typeof after>, then: object]>([
  [
    'adds zones, in the order of their ids',
    listed(101),
    listed(103, 102, 101),
    after(1),
    { zones: listed(101, 102, 103), added: listed(103, 102) },
  ],
  [
    'keeps a zone that it leaves out, with the time; it never retires it the first time',
    listed(101, 102),
    listed(101),
    after(1, [101, 102]),
    { zones: [...listed(101), ...left], left: listed(102) },
  ],
  [
    'keeps it as long as it is not over, with the first time',
    [...listed(101), ...left],
    listed(101),
    after(2),
    { zones: [...listed(101), ...left] },
  ],
  [
    'retires a zone that is over',
    [...listed(101), ...left],
    listed(101),
    after(2, [101, 102]),
    { zones: listed(101), retired: left },
  ],
  [
    'adds a zone again that is listed again',
    left,
    listed(102),
    after(2),
    { zones: listed(102), added: listed(102) },
  ],
  [
    'moves a zone to another account that has it, and retires nothing',
    listed(101, 102),
    listed(101),
    after(1, [], [102]),
    { zones: listed(101) },
  ],
  ['renames zones', listed(101), shop, after(1), { zones: shop }],
])('a listing %s', (_, before, listing, now, then) => {
  expect(relist(before, listing, now)).toEqual({ added: [], left: [], retired: [], ...then })
})

const troubled = (code: FailureCode, atMs: number) =>
  buildCheckpoint({ trouble: buildTrouble({ code, atMs }), lastCommitAtMs: atMs })

describe('a zone is gone', () => {
  test('when the API answers so, and no stream of it was read later', () => {
    expect(isGone([])).toBe(false)
    expect(isGone([buildCheckpoint({ lastCommitAtMs: 5 })])).toBe(false)
    expect(isGone([troubled('zone_gone', 10)])).toBe(true)
    expect(isGone([troubled('zone_gone', 10), buildCheckpoint({ lastCommitAtMs: 9 })])).toBe(true)
    expect(isGone([troubled('zone_gone', 10), buildCheckpoint({ lastCommitAtMs: 11 })])).toBe(false)
    const ended = buildCheckpoint({ lastCommitAtMs: 11, ended: { as: 'complete', atMs: 11 } })
    expect(isGone([troubled('zone_gone', 10), ended])).toBe(true)
  })

  test('not when it cannot be read for another reason', () => {
    expect(isGone([troubled('unauthorised', 10), troubled('network', 10)])).toBe(false)
  })
})

test('an unlisted zone is read while it has readable days', () => {
  const zone = { id: 101, name: '', leftAtMs: at(3) }
  const quiet = buildCheckpoint({})
  const now = (hours: number) => ({ nowMs: at(hours), readableDays: 3 })
  expect(isReadToItsEnd(zone, [quiet], now(71))).toBe(false)
  expect(isReadToItsEnd(zone, [quiet], now(72))).toBe(true)
  const { counters } = quiet
  const later = {
    ...quiet,
    stream: { ...stream, day: shiftDay(today, 1) },
    counters: { ...counters, events: 1 },
  }
  expect(isReadToItsEnd(zone, [quiet, later], now(72))).toBe(false)
  expect(isReadToItsEnd(zone, [quiet, later], now(96))).toBe(true)
})
