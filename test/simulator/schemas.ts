import { Ajv } from 'ajv'
import { expect } from 'vitest'
import type { Reply } from './asking.ts'

// The interface as JSON Schemas, written by hand from its tables. What may be null is what the service is known to null.

const text = { type: 'string' }
const nullableText = { type: ['string', 'null'] }
const none = { type: 'null' }
const number = { type: 'number' }
const integer = { type: 'integer' }
const flag = { type: 'boolean' }
const anything = {}

/** An object with all of these fields and no other; `names` are further fields of one schema. */
function strict(properties: Record<string, object>, names = '', schema: object = text): object {
  const further = names.split(' ').filter(Boolean)
  const all = { ...properties, ...Object.fromEntries(further.map((name) => [name, schema])) }
  return { type: 'object', properties: all, required: Object.keys(all), additionalProperties: false }
}

function listOf(items: object): object {
  return { type: 'array', items }
}

const uuid = { ...text, pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$' }
const labels = strict({}, 'asn country ruleId severity method ruleGroup status serverZone')
const entry = strict({ logId: uuid, timestamp: integer, log: text, labels })
const refused = strict({ success: { const: false } }, 'message errorKey')

export const eventLogPage = strict({
  logs: listOf(entry),
  hasMoreData: flag,
  continuationToken: nullableText,
  startToken: text,
  errorResponse: none,
})

export const failedEventLogPage = strict(
  { hasMoreData: { const: false }, errorResponse: refused },
  'logs continuationToken startToken',
  none,
)

/** The decoded `log`. */
export const log = strict(
  {
    ServerZoneId: integer,
    Url: { ...text, pattern: '^https://' },
    UrlEncodedBody: nullableText,
    Headers: listOf(strict({}, 'Name Value')),
    TriggerMatch: strict({}, 'Key Value'),
  },
  'Message RemoteIp',
)

export const problemDetails = strict({ status: number }, 'type title detail instance')
export const validationProblem = strict(
  { status: number, errors: { ...listOf(strict({}, 'message field')), minItems: 1 } },
  'title detail instance id',
)
export const unauthorisedResult = strict({ statusCode: { const: 401 } })

const configuration = strict(
  { operatorType: integer, requestCount: integer, variableTypes: { type: 'object' } },
  'actionType severityType transformationTypes value isNegated isRegexVariable counterKeyType timeframe ' +
    'blockTime chainedRuleConditions',
  anything,
)
const ruleTexts = 'userId ruleName ruleDescription ruleJson'
export const rateLimitRule = strict(
  {
    id: integer,
    shieldZoneId: integer,
    ruleConfiguration: configuration,
    errorResponse: strict({ statusCode: { const: 200 }, success: { const: true } }, 'message errorKey', none),
  },
  ruleTexts,
  nullableText,
)
export const failedRateLimitRule = strict(
  {
    id: { const: 0 },
    shieldZoneId: { const: 0 },
    errorResponse: strict({ statusCode: integer, success: { const: false } }, 'message errorKey'),
  },
  `${ruleTexts} ruleConfiguration`,
  none,
)

const day = strict({}, 'loggedRequests blockedRequests filesScanned', integer)
const days = {
  type: 'object',
  patternProperties: { '^\\d{4}-\\d{2}-\\d{2}T00:00:00Z$': day },
  additionalProperties: false,
  minProperties: 28,
  maxProperties: 28,
}
export const uploadScanning = strict({
  error: none,
  data: strict(
    { overviewPastTwentyEightDays: days },
    'totalLoggedRequests totalBlockedRequests totalFilesScanned',
    number,
  ),
})
export const failedUploadScanning = strict({ error: refused, data: none })

/** Outside the interface that the user described: what is publicly known of the list of zones. */
const zone = strict(
  { planType: { enum: [0, 1, 2, 3] }, wafEnabled: flag, deletedDateTime: nullableText },
  'shieldZoneId pullZoneId',
  integer,
)
const place = strict(
  { nextPage: { type: ['number', 'null'] } },
  'totalCount totalPages currentPage pageSize',
  number,
)
export const zoneList = strict({ data: listOf(zone), page: { anyOf: [place, none] }, error: none })
export const failedZoneList = strict({ error: refused }, 'data page', none)

const instance = strict(
  { attachedPods: listOf(text), attachedContainers: listOf(text), size: number, usage: number },
  'id region set',
)
const template = strict(
  { name: text, id: text, volumeInstances: listOf(instance) },
  'size totalUsage totalInstancesCount attachedInstancesCount containersCount',
  number,
)
export const volumeList = strict({
  items: listOf(template),
  meta: strict({ totalItems: number }),
  cursor: nullableText,
  summary: strict({}, 'totalPods totalContainers totalStorage', number),
})

const ajv = new Ajv({ allErrors: true, allowUnionTypes: true })

/** The reply has this status, and a JSON body of this schema. */
export function expectReply(reply: Reply, status: number, schema: object): void {
  expect(reply.status, reply.text).toBe(status)
  const isProblem = schema === problemDetails || schema === validationProblem
  const type = isProblem ? 'application/problem+json' : 'application/json'
  expect(reply.headers['content-type']).toBe(`${type}; charset=utf-8`)
  expectConforms(schema, reply.json())
}

export function expectConforms(schema: object, value: unknown): void {
  const isGood = ajv.validate(schema, value)
  expect(isGood, ajv.errorsText(ajv.errors, { separator: '\n' })).toBe(true)
}
