import type * as z from 'zod'
import { nearest } from '../../domain/text/nearest.ts'
import { membersOf, membersText, type Enumeration } from './enumerations.ts'
import { enumerationOf, fieldsAt } from './update-schema.ts'

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
