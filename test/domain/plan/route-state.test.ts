import { expect, test } from 'vitest'
import { processName, readProcessName } from '../../../src/domain/plan/process-name.ts'
import { standingOf } from '../../../src/domain/plan/route-state.ts'

const days = [{ pages: 3 }, { pages: 0 }]

test('a route is failing, not read, behind or up to date, in this order', () => {
  const error = { lastError: {} }
  expect(standingOf({ lagSeconds: 9, days, ...error })).toBe('failing')
  expect(standingOf({ lagSeconds: 9, days: [{ pages: 0 }] })).toBe('not_read')
  expect(standingOf({ lagSeconds: 900, days })).toBe('behind')
  expect(standingOf({ lagSeconds: 899, days })).toBe('up_to_date')
})

test('parses the name of a process, and nothing else', () => {
  const named = { pid: 812, host: 'siem-1.example', startedAt: '2026-11-20T10:00:00.000Z' }
  expect(readProcessName(processName(named))).toEqual(named)
  expect(readProcessName('an unnamed process')).toBeUndefined()
})
