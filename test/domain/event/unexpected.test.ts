import { expect, it } from 'vitest'
import {
  driftAfter,
  driftOf,
  joined,
  unexpectedText,
  type Drift,
} from '../../../src/domain/event/unexpected.ts'

const hourMs = 3_600_000
const none = { names: {}, counts: {} }
const ja4 = { names: { member: ['ja4'] }, counts: { member: 3 } }
const listed = { names: { member: ['ja4', 'ja5'], labels: ['a list'] }, counts: { member: 1, labels: 2 } }
const after = (before: Drift | undefined, found: typeof none, nowMs: number, newestMs?: number) =>
  driftAfter(before, found, { nowMs, newestMs })

it('a drift begins with the first unexpected entry, gathers names, and ends with an hour of others', () => {
  const first = after(undefined, ja4, 1_000)!
  expect(first).toEqual({ names: ja4.names, sinceMs: 1_000, latestMs: 1_000 })
  const second = after(first, listed, 2_000)!
  expect(second).toEqual({ names: listed.names, sinceMs: 1_000, latestMs: 2_000 })
  // Neither a page of others nor silence ends it.
  expect(after(second, none, 2_000 + hourMs, 1_999 + hourMs)).toBe(second)
  expect(after(second, none, 100 * hourMs, 2_000)).toBe(second)
  expect(after(second, none, 100 * hourMs, undefined)).toBe(second)
  expect(after(second, none, 2_000 + hourMs, 2_000 + hourMs)).toBeUndefined()
  expect(after(undefined, none, 5_000)).toBeUndefined()
})

it('what the days of a zone have met is one drift, which the newest event may end', () => {
  const yesterday = after(undefined, ja4, 1_000)!
  const today = after(undefined, listed, 5_000)!
  const both = { names: listed.names, sinceMs: 1_000, latestMs: 5_000 }
  expect(driftOf([yesterday, today], 5_000)).toEqual(both)
  expect(driftOf([yesterday], hourMs + 1_000)).toBeUndefined()
  expect(driftOf([], 5_000)).toBeUndefined()
})

it('several pages are one', () => {
  expect(joined([ja4, none, listed])).toEqual({ names: listed.names, counts: { member: 4, labels: 2 } })
  expect(unexpectedText(listed.names)).toBe(
    'members that shieldlog does not know (ja4, ja5), labels of another shape (a list)',
  )
})
