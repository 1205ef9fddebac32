import { expect, test } from 'vitest'
import { DetailBudget } from '../../../src/maintenance/audit/audit.ts'
import type { StreamAudit } from '../../../src/domain/audit-report.ts'
import { day } from './listing.ts'

function differing(count: number): StreamAudit {
  const counts = { listed: 1, ledger: 0, missing: 1, extra: 0, notYetDue: 0 }
  return {
    ...counts,
    zone: 1,
    name: 'shop',
    day,
    sink: 'archive',
    isEqual: false,
    listed: count,
    missing: count,
    deadLetters: 0,
    dropped: 0,
    filtered: 0,
    lost: 0,
    skipped: 0,
    isByCounts: false,
    minutes: Array.from({ length: count }, () => ({ minute: null, ...counts })),
    missingEvents: Array.from({ length: count }, (_, index) => ({ id: String(index) })),
    parts: [],
  }
}

test('reports list all minutes and events until the budget is used up, then only the first, with a mark', () => {
  const budget = new DetailBudget(250)
  expect(budget.ofStream(differing(100)).isShortened).toBeUndefined()
  const second = budget.ofStream(differing(100))
  expect(second).toMatchObject({ missing: 100, isShortened: true })
  expect([second.minutes.length, second.missingEvents.length]).toEqual([50, 20])
  const third = budget.ofStream(differing(100))
  expect([third.minutes.length, third.missingEvents.length]).toEqual([20, 20])
})
