import { answerRows, outcomeFor, outcomes, type AnswerRow, type Outcome } from '../contract/answers.ts'
import { presets } from '../../src/sinks/http/presets/registry.ts'
import { markdownTable } from './table.ts'

const names = presets.map(({ name }) => name)
const code = (texts: readonly string[]) => texts.map((text) => `\`${text}\``).join(', ')

/** What each preset makes of each kind of answer; the suite of presets tests every row with every preset. */
export function answersReference(): string {
  const rows = answerRows.map((row) => [row.answer, ...cells(row)])
  const words = Object.entries(outcomes).map(([name, meaning]) => `- **${name}**: ${meaning}.`)
  return [...words, '', markdownTable(['Answer', 'For these presets', 'For the others'], rows)].join('\n')
}

function cells(row: AnswerRow): [string, string] {
  const { outcome, only } = row
  if (only !== undefined) return [`${code(only)}: **${outcome}**`, '–']
  const byOutcome = Map.groupBy(names, (name) => outcomeFor(row, name)!)
  if (byOutcome.size === 1) return [`all: **${outcome}**`, '–']
  const named = [...byOutcome].filter(([each]) => each !== outcome)
  const text = ([each, some]: [Outcome, readonly string[]]) => `${code(some)}: **${each}**`
  return [named.map(text).join('; '), `**${outcome}**`]
}
