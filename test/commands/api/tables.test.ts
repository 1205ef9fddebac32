import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { notShownLines, ruleLines } from '../../../src/commands/rate-limit.ts'
import { uploadLines } from '../../../src/commands/upload-scanning.ts'
import { volumeLines } from '../../../src/commands/volumes.ts'
import { paintFor } from '../../../src/commands/terminal/text.ts'

const terminal = (columns: number) => paintFor({ write: () => undefined, isTTY: true, columns })
const pipe = paintFor({ write: () => undefined })

const whole = { ...JSON.parse(readFileSync(new URL('figures.json', import.meta.url), 'utf8')) } as {
  readonly uploads: Parameters<typeof uploadLines>[0][number]['figures']
  readonly volumes: Parameters<typeof volumeLines>[0]
}

test('a rule is a row a field, named as in the file, with unknown values, escaped, and fits the terminal', () => {
  const rule = {
    id: 7,
    ruleName: 'a\u001b[31mb',
    ruleDescription: 'word '.repeat(40).trim(),
    // A copy of the configuration as text.
    ruleJson: '{"actionType":1}',
    ruleConfiguration: {
      actionType: 99,
      operatorType: 'SOON',
      timeframe: 60,
      transformationTypes: [8, 19],
      variableTypes: { REQUEST_HEADERS: 'User-Agent', GEO: '' },
      chainedRuleConditions: [{ operatorType: 5 }],
      blockTime: null,
    },
    further: [1],
  }
  for (const columns of [80, 120])
    for (const line of ruleLines(rule, terminal(columns))) expect(line.length).toBeLessThan(columns)
  expect(ruleLines(rule, pipe).map((line) => line.replace(/ {2,}/, ': '))).toEqual([
    'id: 7',
    String.raw`ruleName: a\u001b[31mb`,
    `ruleDescription: ${rule.ruleDescription}`,
    'actionType: 99 (not a known ActionType)',
    'operatorType: SOON',
    'timeframe: 60 PerOneMinute',
    'transformationTypes: 8 LOWERCASE, 19 URLDECODE',
    'variableTypes.REQUEST_HEADERS: User-Agent',
    'variableTypes.GEO: ""',
    'chainedRuleConditions[0].operatorType: 5 EQ',
    'further: 1',
  ])
})

test('what was asked for and is not in the answer is named', () => {
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

test.each([80, 120])('uploads fit %i columns, with one bar per day', (columns) => {
  const zone = { id: 101, name: 'shop' }
  const lines = uploadLines([{ zone, figures: whole.uploads }], terminal(columns))
  for (const line of lines) expect(line.length).toBeLessThan(columns)
  expect(lines.filter((line) => line.includes('█'))).toHaveLength(2)
  expect(lines.join('\n')).toContain(String.raw`\u001b[`)
  expect(lines.at(-1)).toMatch(/^101 \(shop\) +total +123,456,789,012 +- +3$/)
})

test.each([80, 120])('volumes fit %i columns, whatever the names are', (columns) => {
  const lines = volumeLines(whole.volumes, terminal(columns))
  for (const line of lines) expect(line.length, line).toBeLessThan(columns)
  expect(lines.join('\n')).toContain(String.raw`\u001b[31m`)
  expect(lines.filter((line) => line.includes('98 %'))[0]).toContain('███████▊')
  // More used than there is: a full bar and the true share.
  expect(lines.filter((line) => line.includes('150 %'))[0]).toContain('████████')
})

test('in a pipe volumes and uploads have whole texts, plain digits and no bars', () => {
  const lines = volumeLines(whole.volumes, pipe)
  expect(lines).toHaveLength(1 + 5)
  expect(lines.join('')).not.toMatch(/[█…\p{Cc}]/u)
  expect(lines.at(-1)).toMatch(/^empty +- of 5 GB +- +- of 0$/)
  const totals = uploadLines([{ zone: { id: 7, name: '7' }, figures: whole.uploads }], pipe).at(-1)
  expect(totals).toMatch(/^7 +total +123456789012 +- +3$/)
})
