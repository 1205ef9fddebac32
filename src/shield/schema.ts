import * as z from 'zod'

/**
 * Schemas of answers hold the fields in use and are permissive, since the API adds and removes fields. Schemas of
 * requests are strict: the API ignores a misspelled field, so the rule would not do what its author wants.
 */

const int32 = z.int32()

function oneOf<const T extends readonly number[]>(...values: T) {
  return z.literal(values)
}

const Timeframe = oneOf(1, 10, 60, 300, 900, 3600)
const BlockTime = oneOf(30, 60, 300, 900, 1800, 3600)
const ActionType = oneOf(1, 2, 3)
const OperatorType = oneOf(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 14, 15, 17, 18)
const SeverityType = oneOf(0, 1, 2)
const CounterKeyType = oneOf(0, 1, 2, 3, 4, 5, 6, 7)
const TransformationType = oneOf(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21)

const variables = [
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

const VariableTypes = z.partialRecord(z.enum(variables), z.string()).nullable()

const condition = {
  variableTypes: VariableTypes.optional(),
  operatorType: OperatorType.optional(),
  value: z.string().nullable().optional(),
  isNegated: z.boolean().nullable().optional(),
  isRegexVariable: z.boolean().nullable().optional(),
}

const RuleConfiguration = z.strictObject({
  ...condition,
  actionType: ActionType.optional(),
  severityType: SeverityType.optional(),
  transformationTypes: z.array(TransformationType).nullable().optional(),
  requestCount: int32.optional(),
  counterKeyType: CounterKeyType.optional(),
  timeframe: Timeframe.optional(),
  blockTime: BlockTime.optional(),
  chainedRuleConditions: z.array(z.strictObject(condition)).nullable().optional(),
})

/** The body of the rate-limit update. No field is known to be required. */
export const RateLimitUpdate = z.strictObject({
  ruleName: z.string().nullable().optional(),
  ruleDescription: z.string().nullable().optional(),
  ruleConfiguration: RuleConfiguration.optional(),
})
export type RateLimitUpdate = z.output<typeof RateLimitUpdate>

export const RateLimitRule = z.looseObject({
  id: z.number(),
  shieldZoneId: z.number().optional(),
  userId: z.string().nullish(),
  ruleName: z.string().nullish(),
  ruleDescription: z.string().nullish(),
  ruleJson: z.string().nullish(),
  ruleConfiguration: z.looseObject({}).nullish(),
})
export type RateLimitRule = z.output<typeof RateLimitRule>

export const AcceptedResult = z.strictObject({
  location: z.string().nullish(),
  value: z.unknown(),
  formatters: z.array(z.unknown()).nullish(),
  contentTypes: z.array(z.string()).nullish(),
  declaredType: z.string().nullish(),
  statusCode: z.number().nullish(),
})

/** The map has one entry a day. Its keys and values are kept as received. */
export const UploadScanningMetrics = z.looseObject({
  overviewPastTwentyEightDays: z.looseObject({}).nullish(),
  totalLoggedRequests: z.number().nullish(),
  totalBlockedRequests: z.number().nullish(),
  totalFilesScanned: z.number().nullish(),
})
export type UploadScanningMetrics = z.output<typeof UploadScanningMetrics>

const VolumeTemplate = z.looseObject({
  id: z.string().nullish(),
  name: z.string().nullish(),
  size: z.number().nullish(),
  totalUsage: z.number().nullish(),
  totalInstancesCount: z.number().nullish(),
  attachedInstancesCount: z.number().nullish(),
  containersCount: z.number().nullish(),
  volumeInstances: z.array(z.looseObject({})).nullish(),
})
export type VolumeTemplate = z.output<typeof VolumeTemplate>

export const VolumeList = z.looseObject({
  items: z.array(VolumeTemplate).nullish(),
  meta: z.looseObject({ totalItems: z.number().nullish() }).nullish(),
  cursor: z.string().nullish(),
  summary: z.looseObject({}).nullish(),
})
export type VolumeList = z.output<typeof VolumeList>
