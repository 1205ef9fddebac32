import type { FieldFault } from '../wire.ts'

type Check = (value: unknown, field: string) => readonly FieldFault[]

const actionTypes = [1, 2, 3]
const operatorTypes = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 14, 15, 17, 18]
const severityTypes = [0, 1, 2]
const transformationTypes = Array.from({ length: 21 }, (_, index) => index + 1)
const counterKeyTypes = [0, 1, 2, 3, 4, 5, 6, 7]
const timeframes = [1, 10, 60, 300, 900, 3600]
const blockTimes = [30, 60, 300, 900, 1800, 3600]
const variableNames = [
  'REQUEST_URI REQUEST_URI_RAW ARGS ARGS_COMBINED_SIZE ARGS_GET ARGS_GET_NAMES ARGS_POST ARGS_POST_NAMES',
  'FILES_NAMES GEO REMOTE_ADDR QUERY_STRING REQUEST_BASENAME REQUEST_BODY REQUEST_COOKIES_NAMES',
  'REQUEST_COOKIES REQUEST_FILENAME REQUEST_HEADERS_NAMES REQUEST_HEADERS REQUEST_LINE REQUEST_METHOD',
  'REQUEST_PROTOCOL RESPONSE_BODY RESPONSE_HEADERS RESPONSE_STATUS FINGERPRINT VERIFIED_BOT_CATEGORY',
].flatMap((line) => line.split(' '))

const text: Check = (value, field) => says(typeof value === 'string', field, 'must be a string')
const flag: Check = (value, field) => says(typeof value === 'boolean', field, 'must be true or false')
const int32: Check = (value, field) => says(isInt32(value), field, 'must be a 32-bit integer')

const variables = objectOf(Object.fromEntries(variableNames.map((name) => [name, text])))

const condition = {
  variableTypes: nullable(variables),
  operatorType: oneOf(operatorTypes),
  value: nullable(text),
  isNegated: nullable(flag),
  isRegexVariable: nullable(flag),
}

const ruleConfiguration = objectOf({
  ...condition,
  actionType: oneOf(actionTypes),
  severityType: oneOf(severityTypes),
  transformationTypes: nullable(listOf(oneOf(transformationTypes))),
  requestCount: int32,
  counterKeyType: oneOf(counterKeyTypes),
  timeframe: oneOf(timeframes),
  blockTime: oneOf(blockTimes),
  chainedRuleConditions: nullable(listOf(objectOf(condition))),
})

const updateRequest = objectOf({
  ruleName: nullable(text),
  ruleDescription: nullable(text),
  ruleConfiguration,
})

/** Every error in the body of an update request; empty when the service accepts it. No field is required. */
export function errorsOfUpdate(body: unknown): readonly FieldFault[] {
  return updateRequest(body, '')
}

function says(good: boolean, field: string, message: string): readonly FieldFault[] {
  return good ? [] : [{ field: field === '' ? '$' : field, message }]
}

function isInt32(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 31
}

function oneOf(values: readonly number[]): Check {
  return (value, field) =>
    says(typeof value === 'number' && values.includes(value), field, `must be one of ${values.join(', ')}`)
}

function nullable(check: Check): Check {
  return (value, field) => (value === null ? [] : check(value, field))
}

function listOf(check: Check): Check {
  return (value, field) => {
    if (!Array.isArray(value)) return says(false, field, 'must be an array')
    return value.flatMap((item: unknown, index) => check(item, `${field}[${index}]`))
  }
}

function objectOf(checks: { readonly [name: string]: Check }): Check {
  return (value, field) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return says(false, field, 'must be an object')
    }
    return Object.entries(value).flatMap(([name, part]: [string, unknown]) => {
      const path = field === '' ? name : `${field}.${name}`
      const check = Object.hasOwn(checks, name) ? checks[name] : undefined
      return check === undefined ? says(false, path, 'is not a known property') : check(part, path)
    })
  }
}
