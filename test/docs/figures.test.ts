import { expect, test } from 'vitest'
import type { Figure } from '../bench/figures/figure.ts'
import { comparisonOf, type Report } from '../bench/figures/report.ts'

const figure = (name: string, rounds: readonly number[]): Figure => ({
  name,
  value: rounds[1]!,
  rounds,
  unit: 's',
})
const report = (...figures: readonly Figure[]): Report => ({ machine: {} as Report['machine'], figures })

test('a comparison shows each figure of both runs, its change, and whether no round of one lies among the other', () => {
  const before = report(figure('slower', [1, 2, 3]), figure('same', [1, 2, 3]), figure('gone', [1, 1, 1]))
  const now = [figure('slower', [3.5, 4, 5]), figure('same', [2, 2.5, 4]), figure('new', [1, 1, 1])]
  const lines = comparisonOf(now, before).trimEnd().split('\n').slice(1)
  expect(lines.map((line) => line.replaceAll(/ {2,}/g, ' | '))).toEqual([
    'slower | 2.00 s 1.00..3.00 | 4.00 s 3.50..5.00 | +100 % | beyond the spread',
    'same | 2.00 s 1.00..3.00 | 2.50 s 2.00..4.00 | +25 % | within the spread',
  ])
})

test('a single round has no spread to compare with', () => {
  const one: Figure = { name: 'one', value: 2, unit: '' }
  expect(comparisonOf([one], report({ ...one, value: 1 }))).toContain('one round: no spread')
})
