import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { notShownLines, ruleLines } from '../../../src/commands/rate-limit.ts'
import { uploadLines } from '../../../src/commands/upload-scanning.ts'
import { volumeLines, volumeRecords } from '../../../src/commands/volumes.ts'
import { paintFor } from '../../../src/commands/terminal/text.ts'

const terminal = (columns: number) => paintFor({ write: () => undefined, isTTY: true, columns })

const whole = { ...JSON.parse(readFileSync(new URL('figures.json', import.meta.url), 'utf8')) } as {
  readonly uploads: Parameters<typeof uploadLines>[0]['figures']
  readonly volumes: Parameters<typeof volumeLines>[0]
}

describe('a rule', () => {
  test('the copy of the configuration that the API answers as text is not in the table', () => {
    const rule = { id: 7, ruleName: 'n', ruleJson: '{"actionType":1}', ruleConfiguration: { actionType: 1 } }
    expect(ruleLines(rule, 100, true).join('\n')).not.toMatch(/ruleJson|\{/)
  })

  test('the table of a rule shows unknown values, escapes them, and fits the terminal', () => {
    const rule = {
      id: 7,
      ruleName: 'a\u001b[31mb',
      ruleDescription: 'word '.repeat(40),
      ruleConfiguration: {
        actionType: 99,
        operatorType: 'SOON',
        value: 'v',
        isNegated: true,
        isRegexVariable: true,
        variableTypes: { REQUEST_HEADERS: 'User-Agent', GEO: '' },
        timeframe: 7,
        newField: { a: 1 },
      },
      further: [1],
    }
    for (const columns of [80, 120]) {
      const lines = ruleLines(rule, columns, false)
      for (const line of lines) expect(line.length).toBeLessThan(columns)
      const text = lines.join('\n')
      expect(text).toContain(String.raw`a\u001b[31mb`)
      expect(text).toContain('99 (not a known ActionType)')
      expect(text).toMatch(
        /condition +not REQUEST_HEADERS: User-Agent, GEO \(as regular expressions\)\s+SOON "v"/,
      )
      expect(text).toMatch(/^newField +\{"a":1\}$/m)
      expect(text).toMatch(/^further +\[1\]$/m)
    }
    expect(ruleLines(rule, 80, true).filter((line) => line.startsWith('description'))).toHaveLength(1)
    expect(
      notShownLines([
        { field: 'ruleName', asked: 'a', answered: 'b' },
        { field: 'x', asked: 1 },
      ]),
    ).toEqual([
      'The answer does not show what was asked for:',
      '  ruleName: asked "a", answered "b"',
      '  x: asked 1, not in the answer',
      expect.stringContaining('dashboard'),
    ])
  })
})

describe('uploads', () => {
  test.each([80, 120])('fits %i columns, with one bar per day', (columns) => {
    const zone = { id: 101, name: 'shop' }
    const lines = uploadLines({ zone, figures: whole.uploads }, terminal(columns))
    for (const line of lines) expect(line.length).toBeLessThan(columns)
    expect(lines[0]).toBe('zone 101 (shop)')
    expect(lines.filter((line) => line.includes('█'))).toHaveLength(2)
    expect(lines.join('\n')).toContain(String.raw`\u001b[31m`)
    expect(lines.at(-1)).toMatch(/^total +123,456,789,012 +- +3$/)
  })

  test('reports that there are no figures', () => {
    const lines = uploadLines({ zone: { id: 7, name: '7' }, figures: {} }, terminal(80))
    expect(lines.at(-1)).toBe('The API gave no figures by day.')
    expect(lines.join('\n')).toMatch(/total +- +- +-/)
  })
})

describe('volumes', () => {
  test.each([80, 120])('fits %i columns, whatever the names are', (columns) => {
    const lines = volumeLines(whole.volumes, terminal(columns))
    for (const line of lines) expect(line.length, line).toBeLessThan(columns)
    expect(lines.join('\n')).toContain(String.raw`\u001b[31m`)
    expect(lines.filter((line) => line.includes('98 %'))[0]).toContain('███████▊')
    // More used than there is: a full bar and the true share.
    expect(lines.filter((line) => line.includes('150 %'))[0]).toContain('████████')
  })

  test('a line for a pipe has uncut texts and no colour', () => {
    const records = volumeRecords(whole.volumes)
    expect(records).toHaveLength(1 + 4)
    expect(records.join('')).not.toMatch(/[█…\p{Cc}]/u)
    expect(records.at(-1)).toMatch(/^empty +vt-2 +- +- +- +- +5 +- +- +-$/)
  })
})
