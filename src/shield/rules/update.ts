import * as z from 'zod'
import { membersOf, membersText, type Enumeration } from './enumerations.ts'
import { nearest } from '../../domain/text/nearest.ts'

/** The parts of a request or response that a condition of a rate limit rule may look at. */
export const variables = [
  'REQUEST_URI',
  'REQUEST_URI_RAW',
  'ARGS',
  'ARGS_COMBINED_SIZE',
  'ARGS_GET',
  'ARGS_GET_NAMES',
  'ARGS_POST',
  'ARGS_POST_NAMES',
  'FILES_NAMES',
  'GEO',
  'REMOTE_ADDR',
  'QUERY_STRING',
  'REQUEST_BASENAME',
  'REQUEST_BODY',
  'REQUEST_COOKIES_NAMES',
  'REQUEST_COOKIES',
  'REQUEST_FILENAME',
  'REQUEST_HEADERS_NAMES',
  'REQUEST_HEADERS',
  'REQUEST_LINE',
  'REQUEST_METHOD',
  'REQUEST_PROTOCOL',
  'RESPONSE_BODY',
  'RESPONSE_HEADERS',
  'RESPONSE_STATUS',
  'FINGERPRINT',
  'VERIFIED_BOT_CATEGORY',
] as const

/**
 * The body of the rate-limit update, as a person writes it: the members of an enumeration by number or by name. Strict,
 * since the API ignores a misspelled field, so that the rule would not do what its author wants. No field is known to
 * be required.
 */

/** Which field takes which enumeration. */
const enumerationOf: Readonly<Record<string, Enumeration>> = {
  actionType: 'ActionType',
  operatorType: 'OperatorType',
  severityType: 'SeverityType',
  transformationTypes: 'TransformationType',
  counterKeyType: 'CounterKeyType',
  timeframe: 'Timeframe',
  blockTime: 'BlockTime',
}

/** A number or a name; becomes the number. */
function oneOf(enumeration: Enumeration, description: string) {
  const members = membersOf(enumeration)
  const byName = new Map<unknown, number>(members.map(({ number, name }) => [name, number]))
  return z
    .literal<(number | string)[]>([...members.map(({ number }) => number), ...byName.keys()] as string[])
    .transform((value) => byName.get(value) ?? Number(value))
    .describe(`${description}, by number or name: ${membersText(enumeration)}`)
}

const text = z.string().nullable()
const flag = z.boolean().nullable()

const VariableTypes = z
  .strictObject(
    Object.fromEntries(
      variables.map((name) => [
        name,
        z.string().describe('Which part of the variable, such as a header; "" for all of it').optional(),
      ]),
    ),
  )
  .nullable()
  .describe('What the condition looks at: one key for each variable')

const condition = {
  variableTypes: VariableTypes.optional(),
  operatorType: oneOf('OperatorType', 'How a variable is compared with the value').optional(),
  value: text.describe('What the variables are compared with').optional(),
  isNegated: flag.describe('true: the rule counts the requests that do not match').optional(),
  isRegexVariable: flag.describe('true: the texts of variableTypes are regular expressions').optional(),
}

const RuleConfiguration = z
  .strictObject({
    actionType: oneOf('ActionType', 'What happens once the count is passed').optional(),
    ...condition,
    severityType: oneOf('SeverityType', 'Severity of the events that the rule makes').optional(),
    transformationTypes: z
      .array(oneOf('TransformationType', 'One step'))
      .nullable()
      .describe('How a variable is changed before it is compared, in this order')
      .optional(),
    requestCount: z
      .int32()
      .describe('Matching requests of one counter within the time frame that pass without the action')
      .optional(),
    counterKeyType: oneOf('CounterKeyType', 'What requests are counted by').optional(),
    timeframe: oneOf('Timeframe', 'Time in which requests are counted, in seconds').optional(),
    blockTime: oneOf('BlockTime', 'How long the action RateLimit blocks, in seconds').optional(),
    chainedRuleConditions: z
      .array(z.strictObject(condition).describe('One more condition'))
      .nullable()
      .describe('Further conditions, all of which must match too')
      .optional(),
  })
  .describe('What is counted, and what happens')

export const RateLimitUpdate = z
  .strictObject({
    ruleName: text.describe('Name of the rule').optional(),
    ruleDescription: text.describe('Description of the rule').optional(),
    ruleConfiguration: RuleConfiguration.optional(),
  })
  .describe('A change of a rate limit rule. The API decides about fields that are left out.')

/** With every enumeration as its number: what is sent. */
export type RateLimitUpdate = z.output<typeof RateLimitUpdate>

/** The known fields at a place of the body. `path` leads to an object. */
export function fieldsAt(path: readonly PropertyKey[]): readonly string[] {
  if (path.at(-1) === 'variableTypes') return variables
  if (path.includes('chainedRuleConditions')) return Object.keys(condition)
  return Object.keys(path.length === 0 ? RateLimitUpdate.shape : RuleConfiguration.shape)
}

/** JSON Schema of the body as a person writes it. */
export function rateLimitUpdateJsonSchema(): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(RateLimitUpdate, { io: 'input' })
  return { $schema, title: 'Rate limit rule', ...schema }
}

/** One thing that is wrong with a body. */
export interface UpdateError {
  /** The place in the body, for example `ruleConfiguration.chainedRuleConditions[0].value`; empty for the body itself. */
  readonly field: string
  /** What is wrong there, with the value and what is allowed instead. */
  readonly problem: string
}

const takes: Readonly<Record<string, string>> = {
  ruleName: 'text or null',
  ruleDescription: 'text or null',
  ruleConfiguration: 'an object',
  variableTypes: 'an object with a text for each variable, or null',
  value: 'text or null',
  isNegated: 'true, false or null',
  isRegexVariable: 'true, false or null',
  transformationTypes: 'a list or null',
  requestCount: 'a whole number from -2147483648 to 2147483647',
  chainedRuleConditions: 'a list of conditions, or null',
}

const longestValue = 60

/** The errors that a failed parse of a body found. */
export function updateErrors(issues: readonly z.core.$ZodIssue[]): UpdateError[] {
  return issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownField(issue.path, key))
    return [wrongValue(issue.path, issue.input)]
  })
}

function unknownField(path: readonly PropertyKey[], key: string): UpdateError {
  const known = fieldsAt(path)
  const near = nearest(key, known)
  const hint = near === undefined ? `allowed: ${known.join(', ')}` : `did you mean ${near}?`
  return { field: fieldText([...path, key]), problem: `no such field; ${hint}` }
}

function wrongValue(path: readonly PropertyKey[], value: unknown): UpdateError {
  const names = path.filter((step) => typeof step === 'string')
  const [key = ''] = names.slice(-1)
  const isItem = typeof path.at(-1) === 'number'
  const enumeration = enumerationOf[key]
  const isMember = enumeration !== undefined && (isItem || key !== 'transformationTypes')
  const allowed = isMember ? membersText(enumeration) : takenBy(path, key, isItem)
  const hint = isMember ? memberHint(value, enumeration) : textHint(value, allowed)
  return {
    field: fieldText(path),
    problem: `${valueText(value)} is not allowed; ${hint}allowed: ${allowed}`,
  }
}

function takenBy(path: readonly PropertyKey[], key: string, isItem: boolean): string {
  if (path.length === 0) return `an object with ${fieldsAt(path).join(', ')}`
  if (path.at(-2) === 'variableTypes') return 'text, "" for the whole variable'
  return isItem ? 'an object' : (takes[key] ?? '')
}

function memberHint(value: unknown, enumeration: Enumeration): string {
  if (typeof value !== 'string') return ''
  const members = membersOf(enumeration)
  if (members.some(({ number }) => String(number) === value.trim()))
    return 'write the number without quotes; '
  const near = nearest(
    value,
    members.map(({ name }) => name),
  )
  return near === undefined ? '' : `did you mean ${near}?; `
}

function textHint(value: unknown, allowed: string): string {
  const isBare = typeof value === 'number' || typeof value === 'boolean'
  return isBare && allowed.startsWith('text') ? 'write it in quotes; ' : ''
}

function fieldText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`
    return text === '' ? String(step) : `${text}.${String(step)}`
  }, '')
}

function valueText(value: unknown): string {
  if (typeof value === 'number') return String(value)
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > longestValue ? `${text.slice(0, longestValue)}…` : text
}
