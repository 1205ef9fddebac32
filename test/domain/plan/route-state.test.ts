import { expect, test } from 'vitest'
import { standingOf } from '../../../src/domain/plan/route-state.ts'

const days = [{ pages: 3 }, { pages: 0 }]
const often = { days, paceMs: 30_000 }

test('a route is failing, not read, behind or up to date, in this order', () => {
  expect(standingOf({ lagSeconds: 9, ...often, lastError: {} })).toBe('failing')
  expect(standingOf({ lagSeconds: 9, ...often, days: [{ pages: 0 }] })).toBe('not_read')
  expect(standingOf({ lagSeconds: 900, ...often })).toBe('behind')
  expect(standingOf({ lagSeconds: 899, ...often })).toBe('up_to_date')
})

test('a route with a slow pace is behind when a poll is missed, not between two polls', () => {
  const hourly = { days, paceMs: 3_600_000 }
  expect(standingOf({ lagSeconds: 3_700, ...hourly })).toBe('up_to_date')
  expect(standingOf({ lagSeconds: 7_200, ...hourly })).toBe('behind')
})
