import { isObject } from '../../domain/text/json.ts'
import { failed, jsonAnswer, problem, type Answer } from '../answer.ts'
import type { Route } from '../route.ts'

/** In the fields of the API. */
export type Rule = Readonly<Record<string, unknown>> & { readonly ruleConfiguration: object }

/** The rules of the account: one for each zone at the start, numbered from 1. */
export class RateLimits {
  readonly #rules: Map<number, Rule>

  constructor(zones: readonly number[]) {
    this.#rules = new Map(zones.map((zone, index) => [index + 1, ruleOf(index + 1, zone)]))
  }

  rule(id: number): Rule | undefined {
    return this.#rules.get(id)
  }

  /** Fields that the request leaves out keep their values. */
  answer(route: Route, body: string): Answer {
    const update = objectIn(body)
    if (update === undefined) return problem(400, 'The request body is not a JSON object.', route)
    const id = route.rule!
    const rule = this.#rules.get(id)
    if (rule === undefined)
      return failed(route, 202, 'not_found_or_unauthorised_access.waf_rule', 'Rate limit rule was not found.')
    const ruleConfiguration = { ...rule.ruleConfiguration, ...update.ruleConfiguration }
    const updated = { ...rule, ...update, ruleConfiguration, ruleJson: JSON.stringify(ruleConfiguration) }
    this.#rules.set(id, updated)
    return jsonAnswer(200, updated)
  }
}

function ruleOf(id: number, shieldZoneId: number): Rule {
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

function objectIn(body: string): Partial<Rule> | undefined {
  try {
    const value: unknown = JSON.parse(body)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
