import { describe, expect, test } from 'vitest'
import { relist, isGone, isReadToItsEnd } from '../../src/domain/zone-list.ts'
import { shiftDay } from '../../src/domain/day.ts'
import type { FailureCode } from '../../src/domain/failure.ts'
import { at, buildCheckpoint, stream, today } from './builders.ts'

const listed = (...ids: number[]) => ids.map((id) => ({ id, name: '' }))
const after = (nowMs: number, over: readonly number[] = [], elsewhere: readonly number[] = []) => ({
  nowMs,
  isOver: ({ id }: { id: number }) => over.includes(id),
  elsewhere: new Set(elsewhere),
})
const nothing = { added: [], left: [], retired: [] }

describe('a listing', () => {
  test('adds zones, in the order of their ids', () => {
    expect(relist(listed(101), listed(103, 102, 101), after(1))).toEqual({
      ...nothing,
      zones: listed(101, 102, 103),
      added: listed(103, 102),
    })
  })

  test('keeps a zone that it leaves out, with the time of the first listing that did so', () => {
    const first = relist(listed(101, 102), listed(101), after(1))
    const zones = [...listed(101), { id: 102, name: '', leftAtMs: 1 }]
    expect(first).toEqual({ ...nothing, zones, left: listed(102) })
    expect(relist(first.zones, listed(101), after(2))).toEqual({ ...nothing, zones })
  })

  test('retires a zone that is over, but never the first time that the zone is left out', () => {
    const first = relist(listed(101, 102), listed(101), after(1, [101, 102]))
    expect(first.retired).toEqual([])
    const second = relist(first.zones, listed(101), after(2, [101, 102]))
    expect(second).toEqual({
      ...nothing,
      zones: listed(101),
      retired: [{ id: 102, name: '', leftAtMs: 1 }],
    })
  })

  test('adds a zone again that is listed again', () => {
    const before = [{ id: 101, name: '', leftAtMs: 1 }]
    expect(relist(before, listed(101), after(2))).toEqual({
      ...nothing,
      zones: listed(101),
      added: listed(101),
    })
  })

  test('moves a zone to another account that has it, and retires nothing', () => {
    expect(relist(listed(101, 102), listed(101), after(1, [], [102]))).toEqual({
      ...nothing,
      zones: listed(101),
    })
  })

  test('renames zones', () => {
    const shop = [{ id: 101, name: 'shop' }]
    expect(relist(listed(101), shop, after(1))).toEqual({ ...nothing, zones: shop })
  })
})

const troubled = (code: FailureCode, atMs: number, lastCommitAtMs = atMs) =>
  buildCheckpoint({
    trouble: { kind: 'refuse', code, message: '', count: 1, sinceMs: 1, atMs, retryAtMs: atMs + 1 },
    lastCommitAtMs,
  })

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
