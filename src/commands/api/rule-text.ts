import { printable } from '../../domain/text/printable.ts'
import { wrapPlain } from '../../domain/text/wrap.ts'
import { pad, widestOf } from '../../domain/text/text-width.ts'
import { nameOf } from '../../shield/rules/enumerations.ts'
import type { NotShown } from '../../shield/rules/not-shown.ts'
import type { RateLimitRule } from '../../shield/rules/rule.ts'

type Row = readonly [label: string, text: string]
type Configuration = NonNullable<RateLimitRule['ruleConfiguration']>
type Condition = Pick<
  Configuration,
  'variableTypes' | 'operatorType' | 'value' | 'isNegated' | 'isRegexVariable'
>
type Member = string | number | null | undefined

const narrowest = 30

/** The rule as a table: a row a line, and on a terminal as many lines as the text of a row needs. */
export function ruleLines(rule: RateLimitRule, width: number, isPiped: boolean): string[] {
  return tableOf(rowsOf(rule), width, isPiped)
}

/** Labels and texts in two columns. Escapes the texts; a text that does not fit continues on the next line. */
export function tableOf(rows: readonly Row[], width: number, isPiped: boolean): string[] {
  const labelWidth = widestOf(rows.map(([label]) => printable(label))) + 2
  return rows.flatMap(([label, text]) => {
    const shown = printable(text, isPiped ? Infinity : undefined)
    const room = Math.max(narrowest, width - 1 - labelWidth)
    const parts = isPiped ? [shown] : wrapPlain(shown, room)
    return parts.map((part, index) =>
      `${pad(index === 0 ? printable(label) : '', labelWidth)}${part}`.trimEnd(),
    )
  })
}

function rowsOf(rule: RateLimitRule): Row[] {
  // `ruleJson` repeats the configuration as text: only --json prints it.
  const { id, shieldZoneId, userId, ruleName, ruleDescription, ruleJson: _, ...more } = rule
  const { ruleConfiguration, errorResponse, ...others } = more
  return [
    ['rule', String(id)],
    ['zone', String(shieldZoneId ?? '-')],
    ['name', ruleName ?? '-'],
    ['description', ruleDescription ?? '-'],
    ...(ruleConfiguration ? configurationRows(ruleConfiguration) : [['condition', '-'] as const]),
    ...optional('user', userId),
    ...answerRow(errorResponse),
    ...otherRows(others),
  ]
}

function configurationRows(configuration: Configuration): Row[] {
  const { actionType, severityType, requestCount, counterKeyType, timeframe, blockTime, ...more } =
    configuration
  const { transformationTypes, chainedRuleConditions, ...rest } = more
  const {
    variableTypes: _v,
    operatorType: _o,
    value: _t,
    isNegated: _n,
    isRegexVariable: _r,
    ...others
  } = rest
  const steps = (transformationTypes ?? []).map((step) => memberText('TransformationType', step))
  return [
    ['condition', conditionText(configuration)],
    ...(chainedRuleConditions ?? []).map((each): Row => ['and', conditionText(each)]),
    ['transformations', steps.length === 0 ? '-' : steps.join(', ')],
    [
      'limit',
      `${requestCount ?? '-'} requests in ${secondsText('Timeframe', timeframe)}, ` +
        `counted by ${memberText('CounterKeyType', counterKeyType)}`,
    ],
    ['action', memberText('ActionType', actionType)],
    ['block time', secondsText('BlockTime', blockTime)],
    ['severity', memberText('SeverityType', severityType)],
    ...otherRows(others),
  ]
}

/** `not REQUEST_HEADERS: User-Agent RX "curl.*"`. */
function conditionText(condition: Condition): string {
  const { variableTypes, operatorType, value, isNegated, isRegexVariable } = condition
  const looked = Object.entries(variableTypes ?? {}).map(([name, part]) =>
    part === '' ? name : `${name}: ${typeof part === 'string' ? part : jsonOf(part)}`,
  )
  const what = `${looked.join(', ') || '-'}${isRegexVariable === true ? ' (as regular expressions)' : ''}`
  const compared = value === null || value === undefined ? '' : ` ${JSON.stringify(value)}`
  return `${isNegated === true ? 'not ' : ''}${what} ${memberText('OperatorType', operatorType)}${compared}`
}

function memberText(enumeration: Parameters<typeof nameOf>[0], member: Member): string {
  if (member === null || member === undefined) return '-'
  if (typeof member === 'string') return member
  return nameOf(enumeration, member) ?? `${member} (not a known ${enumeration})`
}

function secondsText(enumeration: 'Timeframe' | 'BlockTime', member: Member): string {
  if (typeof member !== 'number') return member ?? '-'
  const name = nameOf(enumeration, member)
  return `${member} s${name === undefined ? '' : ` (${name})`}`
}

/** What the API says about its own answer. */
function answerRow(response: RateLimitRule['errorResponse']): Row[] {
  const { statusCode, message = '' } = response ?? {}
  if (message === null || message === '') return []
  return [['answer', `${memberText('HttpStatusCode', statusCode)}: ${message}`]]
}

function optional(label: string, text: string | null | undefined): Row[] {
  return text === null || text === undefined || text === '' ? [] : [[label, text]]
}

/** Fields that are not known yet. */
function otherRows(fields: Readonly<Record<string, unknown>>): Row[] {
  return Object.entries(fields).map(([name, value]) => [name, jsonOf(value)])
}

/** What the file asked for and the answer does not show; empty where there is nothing. */
export function notShownLines(differences: readonly NotShown[]): string[] {
  if (differences.length === 0) return []
  return [
    'The answer does not show what was asked for:',
    ...differences.map(({ field, asked, ...rest }) => {
      const answered = 'answered' in rest ? `answered ${jsonOf(rest.answered)}` : 'not in the answer'
      return `  ${printable(field)}: asked ${printable(jsonOf(asked), 200)}, ${printable(answered, 200)}`
    }),
    'Look at the rule in the dashboard of bunny.net (Shield, rate limiting).',
  ]
}

function jsonOf(value: unknown): string {
  return JSON.stringify(value) ?? 'nothing'
}
