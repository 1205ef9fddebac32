import { describe, expect, test } from 'vitest'
import { shiftDay } from '../../../src/domain/day.ts'
import type { FailureCode } from '../../../src/domain/failure.ts'
import { isGone, isReadToItsEnd } from '../../../src/domain/plan/gone-zone.ts'
import { at, buildCheckpoint, stream, today } from '../builders.ts'

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
