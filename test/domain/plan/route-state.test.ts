import { expect, test } from 'vitest'
import { standingOf } from '../../../src/domain/plan/route-state.ts'

const days = [{ pages: 3 }, { pages: 0 }]

test('a route is failing, not read, behind or up to date, in this order', () => {
  const error = { lastError: {} }
  expect(standingOf({ lagSeconds: 9, days, ...error })).toBe('failing')
  expect(standingOf({ lagSeconds: 9, days: [{ pages: 0 }] })).toBe('not_read')
  expect(standingOf({ lagSeconds: 900, days })).toBe('behind')
  expect(standingOf({ lagSeconds: 899, days })).toBe('up_to_date')
})
