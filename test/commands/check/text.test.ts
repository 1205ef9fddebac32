import { expect, test } from 'vitest'
import type { Finding } from '../../../src/assemble/check.ts'
import { findingLines, summaryLine } from '../../../src/commands/check.ts'
import { terminal } from '../status/sample.ts'

const long = 'the destination answered 403 and said that it takes nothing with this token '.repeat(3)
const findings: Finding[] = [
  { step: 'configuration', mark: 'ok', text: 'shieldlog.yaml; 3 zones, 2 sinks' },
  { step: '', mark: 'note', text: 'zones is overridden by the environment: SHIELDLOG_ZONES' },
  { step: 'sink siem', mark: 'fail', text: long },
  { step: '  test event', mark: 'fail', text: 'refused' },
]

test.each([80, 120])('wraps at words below the text and stays within %i columns', (columns) => {
  const lines = findings.flatMap((finding) => findingLines(finding, 13, terminal(columns)))
  expect(lines.filter((line) => line.length > columns)).toEqual([])
  expect(lines.join(' ').replaceAll(/ +/g, ' ')).toContain(long.trim())
  expect(lines[0]).toBe('configuration  ok    shieldlog.yaml; 3 zones, 2 sinks')
  expect(lines[1]).toBe('               note  zones is overridden by the environment: SHIELDLOG_ZONES')
  expect(lines.at(-1)).toBe('  test event   FAIL  refused')
  expect(summaryLine(1, terminal(80))).toBe('1 problem. Fix it and run check again.')
})
