import * as z from 'zod'
import { problem, textAnswer, validationProblem, type Answer } from '../answer.ts'
import type { FieldFault, Json, RateLimitRule } from '../wire.ts'
import type { Route } from '../route.ts'

interface UpdateRequest {
  readonly contentType: string
  readonly accept: string
  readonly body: Buffer
}

const answerTypes = ['application/json', 'text/plain', 'text/json'] as const

/** The rules of the account: one for each zone at the start, numbered from 1. */
export class RateLimits {
  readonly #rules: Map<number, RateLimitRule>

  constructor(zones: readonly number[]) {
    this.#rules = new Map(zones.map((zone, index) => [index + 1, ruleOf(index + 1, zone)]))
  }

  rule(id: number): RateLimitRule | undefined {
    return this.#rules.get(id)
  }

  answer(route: Route, request: UpdateRequest): Answer {
    const id = route.ruleId
    if (id === undefined) return problem(400, route.malformed ?? '', route)
    if (!isJsonType(request.contentType)) {
      return problem(415, `The content type '${request.contentType}' is not supported.`, route)
    }
    const body = parse(request.body)
    if (body === undefined) return problem(400, 'The request body is not valid JSON.', route)
    const faults = errorsOfUpdate(body)
    if (faults.length > 0) return validationProblem(400, faults, route)
    const rule = this.#rules.get(id)
    if (rule === undefined) {
      const key = 'not_found_or_unauthorised_access.waf_rule'
      return failedUpdate(202, key, 'Rate limit rule was not found.', request.accept)
    }
    const updated = updatedRule(rule, body as Update)
    this.#rules.set(id, updated)
    return negotiated(200, updated, request.accept)
  }
}

/** A logical error: the shape of a rule with empty values. */
export function failedUpdate(statusCode: number, errorKey: string, message: string, accept = ''): Answer {
  const rule = {
    id: 0,
    shieldZoneId: 0,
    userId: null,
    ruleName: null,
    ruleDescription: null,
    ruleJson: null,
    ruleConfiguration: null,
    errorResponse: { statusCode, success: false, message, errorKey },
  } satisfies RateLimitRule
  return negotiated(statusCode, rule, accept)
}

/** The operation answers in one of three content types, by the request's Accept header. */
export function negotiated(status: number, value: unknown, accept: string): Answer {
  const wanted = accept.split(',').map((part) => part.split(';')[0]?.trim().toLowerCase())
  const type = wanted.map((name) => answerTypes.find((known) => known === name)).find(Boolean)
  return textAnswer(status, JSON.stringify(value), `${type ?? answerTypes[0]}; charset=utf-8`)
}

interface Update {
  readonly ruleName?: string | null
  readonly ruleDescription?: string | null
  readonly ruleConfiguration?: { readonly [key: string]: Json }
}

// Fields that the request leaves out keep their values.
function updatedRule(rule: RateLimitRule, update: Update): RateLimitRule {
  const ruleConfiguration = { ...rule.ruleConfiguration, ...update.ruleConfiguration }
  return { ...rule, ...update, ruleConfiguration, ruleJson: JSON.stringify(ruleConfiguration) }
}

function ruleOf(id: number, shieldZoneId: number): RateLimitRule {
  const ruleConfiguration = {
    actionType: 1,
    variableTypes: { REQUEST_URI: '' },
    operatorType: 0,
    severityType: 1,
    transformationTypes: [8, 19],
    value: '/login',
    isNegated: false,
    isRegexVariable: false,
    requestCount: 60,
    counterKeyType: 0,
    timeframe: 60,
    blockTime: 300,
    chainedRuleConditions: null,
  }
  return {
    id,
    shieldZoneId,
    userId: null,
    ruleName: `Login ${id}`,
    ruleDescription: 'Slows down password guessing',
    ruleJson: JSON.stringify(ruleConfiguration),
    ruleConfiguration,
    errorResponse: { statusCode: 200, success: true, message: null, errorKey: null },
  }
}

function isJsonType(contentType: string): boolean {
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? ''
  return type === 'application/json' || type === 'text/json' || /^application\/[\w.-]+\+json$/.test(type)
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch {
    return undefined
  }
}

const variableNames = [
  'REQUEST_URI REQUEST_URI_RAW ARGS ARGS_COMBINED_SIZE ARGS_GET ARGS_GET_NAMES ARGS_POST ARGS_POST_NAMES',
  'FILES_NAMES GEO REMOTE_ADDR QUERY_STRING REQUEST_BASENAME REQUEST_BODY REQUEST_COOKIES_NAMES',
  'REQUEST_COOKIES REQUEST_FILENAME REQUEST_HEADERS_NAMES REQUEST_HEADERS REQUEST_LINE REQUEST_METHOD',
  'REQUEST_PROTOCOL RESPONSE_BODY RESPONSE_HEADERS RESPONSE_STATUS FINGERPRINT VERIFIED_BOT_CATEGORY',
].flatMap((line) => line.split(' '))

const condition = {
  variableTypes: z
    .strictObject(Object.fromEntries(variableNames.map((name) => [name, z.string().optional()])))
    .nullish(),
  operatorType: z.literal([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 14, 15, 17, 18]).optional(),
  value: z.string().nullish(),
  isNegated: z.boolean().nullish(),
  isRegexVariable: z.boolean().nullish(),
}

/** No field is required. */
const UpdateRequest = z.strictObject({
  ruleName: z.string().nullish(),
  ruleDescription: z.string().nullish(),
  ruleConfiguration: z
    .strictObject({
      ...condition,
      actionType: z.literal([1, 2, 3]).optional(),
      severityType: z.literal([0, 1, 2]).optional(),
      transformationTypes: z.array(z.int().min(1).max(21)).nullish(),
      requestCount: z.int32().optional(),
      counterKeyType: z.int().min(0).max(7).optional(),
      timeframe: z.literal([1, 10, 60, 300, 900, 3600]).optional(),
      blockTime: z.literal([30, 60, 300, 900, 1800, 3600]).optional(),
      chainedRuleConditions: z.array(z.strictObject(condition)).nullish(),
    })
    .optional(),
})

/** Every error in the body of an update request; empty when the service accepts it. */
function errorsOfUpdate(body: unknown): FieldFault[] {
  const issues = UpdateRequest.safeParse(body).error?.issues ?? []
  return issues.flatMap((issue) => {
    const at = issue.path.join('.')
    if (issue.code !== 'unrecognized_keys') return [{ field: at === '' ? '$' : at, message: issue.message }]
    return issue.keys.map((key) => ({
      field: at === '' ? key : `${at}.${key}`,
      message: 'is not a known property',
    }))
  })
}
