/** The interface as JSON Schemas, written by hand from its tables. What may be null is what the service is known to null. */

const text = { type: 'string' }
const nullableText = { type: ['string', 'null'] }
const number = { type: 'number' }
const int32 = { type: 'integer', minimum: -(2 ** 31), maximum: 2 ** 31 - 1 }
const flag = { type: 'boolean' }

function strict(properties: Record<string, object>, optional: readonly string[] = []): object {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return { type: 'object', properties, required, additionalProperties: false }
}

function nullable(schema: object): object {
  return { anyOf: [schema, { type: 'null' }] }
}

function listOf(items: object): object {
  return { type: 'array', items }
}

const uuid = {
  type: 'string',
  pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$',
}

const labels = strict({
  asn: text,
  country: text,
  ruleId: text,
  severity: text,
  method: text,
  ruleGroup: text,
  status: text,
  serverZone: text,
})

export const entry = strict({ logId: uuid, timestamp: { type: 'integer' }, log: text, labels })

const failedResponse = strict({ success: { const: false }, message: text, errorKey: text })
const goodResponse = nullable(
  strict({ success: flag, message: { enum: [null, ''] }, errorKey: { enum: [null, ''] } }),
)

export const eventLogPage = strict(
  {
    logs: listOf(entry),
    hasMoreData: flag,
    continuationToken: nullableText,
    startToken: text,
    errorResponse: goodResponse,
  },
  ['errorResponse'],
)

export const failedEventLogPage = strict({
  logs: { type: 'null' },
  hasMoreData: { const: false },
  continuationToken: { type: 'null' },
  startToken: { type: 'null' },
  errorResponse: failedResponse,
})

/** The decoded `log`. */
export const log = strict({
  ServerZoneId: { type: 'integer' },
  Message: text,
  Url: { type: 'string', pattern: '^https://' },
  RemoteIp: text,
  UrlEncodedBody: nullableText,
  Headers: listOf(strict({ Name: text, Value: text })),
  TriggerMatch: strict({ Key: text, Value: text }),
})

export const problemDetails = strict({
  type: text,
  title: text,
  status: number,
  detail: text,
  instance: text,
})

export const validationProblem = strict({
  title: text,
  status: number,
  detail: text,
  instance: text,
  errors: { ...listOf(strict({ message: text, field: text })), minItems: 1 },
  id: text,
})

export const unauthorisedResult = strict({ statusCode: { const: 401 } })

const variableNames =
  `REQUEST_URI, REQUEST_URI_RAW, ARGS, ARGS_COMBINED_SIZE, ARGS_GET, ARGS_GET_NAMES, ARGS_POST,
  ARGS_POST_NAMES, FILES_NAMES, GEO, REMOTE_ADDR, QUERY_STRING, REQUEST_BASENAME, REQUEST_BODY, REQUEST_COOKIES_NAMES,
  REQUEST_COOKIES, REQUEST_FILENAME, REQUEST_HEADERS_NAMES, REQUEST_HEADERS, REQUEST_LINE, REQUEST_METHOD,
  REQUEST_PROTOCOL, RESPONSE_BODY, RESPONSE_HEADERS, RESPONSE_STATUS, FINGERPRINT, VERIFIED_BOT_CATEGORY`.split(
    /,\s+/,
  )

const variableTypes = nullable(
  strict(Object.fromEntries(variableNames.map((name) => [name, text])), variableNames),
)
const operatorType = { enum: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 14, 15, 17, 18] }
const condition = {
  variableTypes,
  operatorType,
  value: nullableText,
  isNegated: nullable(flag),
  isRegexVariable: nullable(flag),
}
const configuration = {
  ...condition,
  actionType: { enum: [1, 2, 3] },
  severityType: { enum: [0, 1, 2] },
  transformationTypes: nullable(listOf({ type: 'integer', minimum: 1, maximum: 21 })),
  requestCount: int32,
  counterKeyType: { type: 'integer', minimum: 0, maximum: 7 },
  timeframe: { enum: [1, 10, 60, 300, 900, 3600] },
  blockTime: { enum: [30, 60, 300, 900, 1800, 3600] },
  chainedRuleConditions: nullable(listOf(strict(condition, Object.keys(condition)))),
}

// The values of HttpStatusCode: the listed ones, with gaps.
const statusCodes = [
  '100 101 102 103 200 201 202 203 204 205 206 207 208 226 300 301 302 303 304 305 306 307 308',
  '400 401 402 403 404 405 406 407 408 409 410 411 412 413 414 415 416 417 421 422 423 424 426 428 429 431 451',
  '500 501 502 503 504 505 506 507 508 510 511',
].flatMap((line) => line.split(' ').map(Number))

function ruleWith(success: boolean): object {
  return strict({
    id: { type: 'integer' },
    shieldZoneId: { type: 'integer' },
    userId: nullableText,
    ruleName: nullableText,
    ruleDescription: nullableText,
    ruleJson: nullableText,
    ruleConfiguration: success ? strict(configuration) : nullable(strict(configuration)),
    errorResponse: strict({
      statusCode: { enum: statusCodes },
      success: { const: success },
      message: nullableText,
      errorKey: success ? { type: 'null' } : text,
    }),
  })
}

export const rateLimitRule = ruleWith(true)
export const failedRateLimitRule = ruleWith(false)

const day = strict({
  loggedRequests: { type: 'integer' },
  blockedRequests: { type: 'integer' },
  filesScanned: { type: 'integer' },
})

export const uploadScanning = strict(
  {
    error: goodResponse,
    data: strict({
      overviewPastTwentyEightDays: {
        type: 'object',
        patternProperties: { '^\\d{4}-\\d{2}-\\d{2}T00:00:00Z$': day },
        additionalProperties: false,
        minProperties: 28,
        maxProperties: 28,
      },
      totalLoggedRequests: number,
      totalBlockedRequests: number,
      totalFilesScanned: number,
    }),
  },
  ['error'],
)

export const failedUploadScanning = strict({ error: failedResponse, data: { type: 'null' } })

/** Outside the interface that the user described: what is publicly known of the list of zones. */
export const zoneList = strict(
  {
    data: listOf(
      strict({
        shieldZoneId: { type: 'integer' },
        pullZoneId: { type: 'integer' },
        planType: { enum: [0, 1, 2, 3] },
        wafEnabled: flag,
        deletedDateTime: nullableText,
      }),
    ),
    page: nullable(
      strict({
        totalCount: number,
        totalPages: number,
        currentPage: number,
        nextPage: { type: ['number', 'null'] },
        pageSize: number,
      }),
    ),
    error: goodResponse,
  },
  ['error'],
)

export const failedZoneList = strict({
  data: { type: 'null' },
  page: { type: 'null' },
  error: failedResponse,
})

const volumeInstance = strict({
  id: text,
  attachedPods: listOf(text),
  attachedContainers: listOf(text),
  region: text,
  size: number,
  usage: number,
  set: text,
})

export const volumeList = strict({
  items: listOf(
    strict({
      name: text,
      id: text,
      size: number,
      totalUsage: number,
      totalInstancesCount: number,
      attachedInstancesCount: number,
      containersCount: number,
      volumeInstances: listOf(volumeInstance),
    }),
  ),
  meta: strict({ totalItems: number }),
  cursor: nullableText,
  summary: strict({ totalPods: number, totalContainers: number, totalStorage: number }),
})
