import { errorsOfUpdate } from './rate-limit-body.ts'
import { problem, textAnswer, validationProblem, type Answer } from '../answer.ts'
import type { Json, RateLimitRule } from '../wire.ts'
import type { Route } from '../route.ts'

export interface RateLimits {
  answer(route: Route, request: UpdateRequest): Answer
  rule(id: number): RateLimitRule | undefined
  setRule(rule: RateLimitRule): void
}

export interface UpdateRequest {
  readonly contentType: string
  readonly accept: string
  readonly body: Buffer
}

const answerTypes = ['application/json', 'text/plain', 'text/json'] as const

export function createRateLimits(zones: readonly number[]): RateLimits {
  const rules = new Map<number, RateLimitRule>()
  for (const [index, shieldZoneId] of zones.entries()) {
    rules.set(index + 1, ruleOf(index + 1, shieldZoneId))
  }

  const answer = (route: Route, request: UpdateRequest): Answer => {
    const id = route.ruleId
    if (id === undefined) return problem(400, route.malformed ?? '', route)
    if (!isJsonType(request.contentType)) {
      return problem(415, `The content type '${request.contentType}' is not supported.`, route)
    }
    const body = parse(request.body)
    if (body === undefined) return problem(400, 'The request body is not valid JSON.', route)
    const faults = errorsOfUpdate(body)
    if (faults.length > 0) return validationProblem(400, faults, route)
    const rule = rules.get(id)
    if (rule === undefined) {
      const key = 'not_found_or_unauthorised_access.waf_rule'
      return failedUpdate(202, key, 'Rate limit rule was not found.', request.accept)
    }
    const updated = updatedRule(rule, body as Update)
    rules.set(id, updated)
    return negotiated(200, updated, request.accept)
  }

  return {
    answer,
    rule: (id) => rules.get(id),
    setRule: (rule) => {
      rules.set(rule.id, rule)
    },
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
  return {
    ...rule,
    ruleName: update.ruleName === undefined ? rule.ruleName : update.ruleName,
    ruleDescription: update.ruleDescription === undefined ? rule.ruleDescription : update.ruleDescription,
    ruleConfiguration,
    ruleJson: JSON.stringify(ruleConfiguration),
    errorResponse: { statusCode: 200, success: true, message: null, errorKey: null },
  }
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
