import * as z from 'zod'
import { membersOf, membersText, type Enumeration } from './enumerations.ts'
import { variables } from './variables.ts'

/**
 * The body of the rate-limit update, as a person writes it: the members of an enumeration by number or by name. Strict,
 * since the API ignores a misspelled field, so that the rule would not do what its author wants. No field is known to
 * be required.
 */

/** Which field takes which enumeration. */
export const enumerationOf: Readonly<Record<string, Enumeration>> = {
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
