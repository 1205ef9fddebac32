import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { notShownText, ruleText } from '../../../src/commands/rate-limit.ts'
import { paintFor } from '../../../src/commands/terminal/text.ts'
import { uploadLines } from '../../../src/commands/upload-scanning.ts'
import { volumeLines } from '../../../src/commands/volumes.ts'

const pipe = paintFor({ write: () => undefined })
const { uploads, volumes } = JSON.parse(
  readFileSync(new URL('figures.json', import.meta.url), 'utf8'),
) as Record<string, never>
const linesOf = {
  uploads: (paint = pipe) => uploadLines([{ zone: { id: 101, name: 'shop' }, figures: uploads! }], paint),
  volumes: (paint = pipe) => volumeLines(volumes!, paint),
}

test('a rule is YAML with the names of the file, numbers that have no name, and escaped texts', () => {
  const rule = {
    id: 7,
    ruleName: 'a\u001b[31mb\u202e',
    // A copy of the configuration as text.
    ruleJson: '{"actionType":1}',
    ruleConfiguration: {
      actionType: 99,
      operatorType: 'SOON',
      timeframe: 60,
      transformationTypes: [8, 19],
      variableTypes: { GEO: '' },
      chainedRuleConditions: [{ operatorType: 5 }],
      blockTime: null,
    },
  }
  expect(ruleText(rule).split('\n')).toEqual([
    'id: 7',
    expect.stringMatching(/^ruleName: \P{C}+$/u),
    'ruleConfiguration:',
    '  actionType: 99',
    '  operatorType: SOON',
    '  timeframe: PerOneMinute',
    '  transformationTypes:',
    '    - LOWERCASE',
    '    - URLDECODE',
    '  variableTypes:',
    '    GEO: ""',
    '  chainedRuleConditions:',
    '    - operatorType: EQ',
    '',
  ])
})

test('what was asked for and is not in the answer is named', () => {
  const differences = [
    { field: 'ruleName', asked: 'a', answered: 'b' },
    { field: 'x', asked: 1 },
  ]
  expect(notShownText(differences).split('\n')).toEqual([
    'The answer does not show what was asked for:',
    '  ruleName: asked "a", answered "b"',
    '  x: asked 1, not in the answer',
    expect.stringContaining('dashboard'),
    '',
  ])
})

test.each([
  ['uploads', 80],
  ['uploads', 120],
  ['volumes', 80],
  ['volumes', 120],
] as const)('%s fit %i columns with escaped names and bars', (kind, columns) => {
  const lines = linesOf[kind](paintFor({ write: () => undefined, isTTY: true, columns }))
  for (const line of lines) expect(line.length, line).toBeLessThan(columns)
  expect(lines.join('\n')).toContain(String.raw`\u001b[`)
  if (kind === 'uploads') expect(lines.filter((line) => line.includes('█'))).toHaveLength(2)
  // More used than there is: a full bar and the true share.
  else for (const bar of ['98 %  ███████▊', '150 %  ████████']) expect(lines.join('\n')).toContain(bar)
})

test('in a pipe volumes and uploads have whole texts, plain digits and no bars', () => {
  expect(linesOf.volumes()).toHaveLength(1 + 5)
  expect(linesOf.volumes().join('')).not.toMatch(/[█…\p{Cc}]/u)
  expect(linesOf.volumes().at(-1)).toMatch(/^empty +- of 5 GB +- +- of 0$/)
  expect(linesOf.uploads().at(-1)).toMatch(/^101 \(shop\) +total +123456789012 +- +3$/)
})
