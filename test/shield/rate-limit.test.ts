import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import {
  notShown,
  rateLimitUpdateJsonSchema,
  readUpdate,
  updateRateLimit,
} from '../../src/shield/rate-limit.ts'
import { answer, never, startedApi, type Reply } from './shield-api.ts'

const update = {
  ruleName: 'login',
  ruleConfiguration: {
    actionType: 1,
    variableTypes: { REQUEST_URI: '' },
    requestCount: 10,
    timeframe: 60,
    chainedRuleConditions: [{ operatorType: 5, variableTypes: { REQUEST_METHOD: '' }, value: 'POST' }],
  },
}
const accepted = { location: null, value: null, formatters: [], contentTypes: [], declaredType: null }
const refusal = { success: false, message: 'no', errorKey: 'not_found_or_unauthorised_access.waf_rule' }
const within = (ruleConfiguration: object) => ({ ruleConfiguration })

/** What becomes of an update with this body, and the requests that were made. */
async function updating(reply: Reply, body = update, changes = {}) {
  const api = await startedApi(changes)
  api.reply(reply)
  const outcome: unknown = await updateRateLimit(api.client, 7, body, never).catch((error: unknown) => error)
  return { outcome, requests: api.requests }
}

describe('the request', () => {
  test('has the given body as JSON, and is sent once', async () => {
    let body = ''
    const { outcome, requests } = await updating((response, request) => {
      request.on('data', (chunk: Buffer) => (body += chunk.toString()))
      request.on('end', () => answer(200, { id: 7, ruleName: 'login', more: 1 })(response, request))
    })
    expect(outcome).toMatchObject({ outcome: 'updated', answer: { id: 7, ruleName: 'login', more: 1 } })
    expect(JSON.parse(body)).toEqual(update)
    expect(requests).toMatchObject([{ method: 'PATCH', url: '/shield/rate-limit/7' }])
    expect(requests[0]?.headers['content-type']).toBe('application/json')
  })

  test('has the number for each name of an enumeration', () => {
    const named = {
      actionType: 'Challenge',
      severityType: 'CRITICAL',
      transformationTypes: ['CMDLINE', 19, 'UTF8TOUNICODE'],
      counterKeyType: 'IP_JA4',
      timeframe: 'PerOneHour',
      blockTime: 'ForThirtySeconds',
      chainedRuleConditions: [{ operatorType: 'WITHIN' }],
    }
    const numbered = {
      actionType: 3,
      severityType: 2,
      transformationTypes: [1, 19, 21],
      counterKeyType: 7,
      timeframe: 3600,
      blockTime: 30,
      chainedRuleConditions: [{ operatorType: 12 }],
    }
    expect(readUpdate(within(named))).toEqual({ body: within(numbered) })
  })

  test('can be what its schema accepts: numbers and names of members, and nothing else', () => {
    const schema = rateLimitUpdateJsonSchema()
    const validate = new Ajv2020({ allErrors: true, allowUnionTypes: true }).compile(schema)
    for (const good of [{}, within({ timeframe: 60 }), within({ timeframe: 'PerOneMinute', value: null })])
      expect([validate(good), 'body' in readUpdate(good)]).toEqual([true, true])
    for (const bad of [{ x: 1 }, within({ timeframe: 61 }), within({ variableTypes: { URI: '' } })])
      expect([validate(bad), 'body' in readUpdate(bad)]).toEqual([false, false])
    expect(JSON.stringify(schema).match(/"description"/g)!.length).toBeGreaterThan(40)
  })

  test('can have null where the interface allows it, and nowhere else', () => {
    const texts = { ruleName: null, ruleDescription: null }
    const flags = { value: null, isNegated: null, isRegexVariable: null }
    const lists = { variableTypes: null, transformationTypes: null, chainedRuleConditions: null }
    const nulls = { ...texts, ...within({ ...flags, ...lists }) }
    expect(readUpdate(nulls)).toEqual({ body: nulls })
    for (const field of ['actionType', 'operatorType', 'severityType', 'requestCount', 'timeframe'])
      expect(readUpdate(within({ [field]: null }))).toMatchObject({
        errors: [{ problem: expect.stringContaining('null is not') as string }],
      })
  })
})

describe('an invalid body', () => {
  const seconds = 'allowed: 1 PerSecond, 10 PerTenSeconds, 60 PerOneMinute'
  const ofCondition = 'allowed: variableTypes, operatorType, value, isNegated, isRegexVariable'
  const ofConfiguration: [object, string, string][] = [
    [{ timeframe: 61 }, 'timeframe', `61 is not allowed; ${seconds}`],
    [{ timeframe: '60' }, 'timeframe', `"60" is not allowed; ${seconds}`],
    [{ blockTime: 1 }, 'blockTime', 'allowed: 30 ForThirtySeconds'],
    [{ counterKeyType: 8 }, 'counterKeyType', '0 IP, 1 Host'],
    [{ transformationTypes: [8, 22] }, 'transformationTypes[1]', '22 is not allowed; allowed: 1 CMDLINE'],
    [{ transformationTypes: 8 }, 'transformationTypes', 'allowed: a list or null'],
    [{ requestCount: 2 ** 31 }, 'requestCount', 'allowed: a whole number from -2147483648 to 2147483647'],
    [{ isNegated: 'no' }, 'isNegated', '"no" is not allowed'],
    [{ variableTypes: { REQUEST_URL: '' } }, 'variableTypes.REQUEST_URL', 'did you mean REQUEST_URI?'],
    [
      { variableTypes: { GEO: null } },
      'variableTypes.GEO',
      'allowed: text in quotes, "" for the whole variable',
    ],
    [{ chainedRuleConditions: [{ timeframe: 1 }] }, 'chainedRuleConditions[0].timeframe', ofCondition],
    [
      { chainedRuleConditions: ['GEO'] },
      'chainedRuleConditions[0]',
      '"GEO" is not allowed; allowed: an object',
    ],
  ]
  test.each<[body: unknown, field: string, problem: string]>([
    [{ ruleName: 5 }, 'ruleName', '5 is not allowed; allowed: text in quotes, or null'],
    [{ rulename: 'x' }, 'rulename', 'no such field; did you mean ruleName?'],
    [{ id: 7 }, 'id', 'no such field; allowed: ruleName, ruleDescription, ruleConfiguration'],
    [JSON.parse('{"__proto__":{}}'), '__proto__', 'no such field'],
    [{ ruleConfiguration: null }, 'ruleConfiguration', 'null is not allowed; allowed: an object'],
    [[], '', '[] is not allowed; allowed: an object with ruleName'],
    ['text', '', '"text" is not allowed'],
    [null, '', 'null is not allowed'],
    ...ofConfiguration.map((row): [unknown, string, string] => [
      within(row[0]),
      `ruleConfiguration.${row[1]}`,
      row[2],
    ]),
  ])('%j', (body, field, problem) => {
    const told = { field, problem: expect.stringContaining(problem) as string }
    expect(readUpdate(body)).toMatchObject({ errors: [told] })
  })

  test('is reported with all its errors', () => {
    const bad = { ruleName: 1, ...within({ blockTime: 1, severityType: 9 }) }
    const fields = ['ruleName', 'ruleConfiguration.severityType', 'ruleConfiguration.blockTime']
    expect(readUpdate(bad)).toMatchObject({ errors: fields.map((field) => ({ field })) })
  })
})

describe('the answer', () => {
  test.each<[what: string, status: number, body: unknown, becomes: object]>([
    ['a framework result', 202, accepted, { outcome: 'accepted' }],
    ['a rule', 202, { id: 7, ruleName: 'login' }, { outcome: 'updated' }],
    ['a rule inside a framework result', 202, { ...accepted, value: { id: 7 } }, { outcome: 'updated' }],
    ['an error envelope', 200, { id: 0, errorResponse: refusal }, { code: 'rejected' }],
    ['an error inside a framework result', 202, { ...accepted, value: refusal }, { code: 'rejected' }],
    ['an envelope in a value', 202, { value: { id: 7, errorResponse: refusal } }, { code: 'rejected' }],
    ['a framework result of an error', 202, { ...accepted, statusCode: 401 }, { code: 'unauthorised' }],
    ['an empty rule', 202, { id: 0, ruleName: null }, { code: 'rejected' }],
    ['nothing', 202, {}, { code: 'bad_body' }],
    ['no JSON', 200, '', { code: 'bad_body' }],
    ['a rule of a wrong type', 200, { id: 'x', value: null }, { code: 'bad_body' }],
    ['the result of a refused key', 401, { statusCode: 401 }, { code: 'unauthorised' }],
    ['no body', 500, '', { code: 'server_error' }],
  ])('%s with %d is read by its body, and the request is not repeated', async (_, status, body, becomes) => {
    const { outcome, requests } = await updating(answer(status, body))
    expect(outcome).toMatchObject(becomes)
    const isUnknown = 'code' in becomes && ['bad_body', 'server_error'].includes(String(becomes.code))
    expect(String(outcome).includes('it is not known whether rule 7 changed')).toBe(isUnknown)
    expect(requests).toHaveLength(1)
  })

  test('keeps unknown members, fields and values, of any type', async () => {
    const texts = { userId: 'u-1', ruleName: null, ruleDescription: 7, ruleJson: '{}' }
    const rule = {
      id: 9_007_199_254,
      shieldZoneId: 101,
      ...texts,
      ruleConfiguration: { actionType: 99, operatorType: 'SOON', timeframe: 7, newField: { a: 1 } },
      errorResponse: { statusCode: 299, success: true, message: null, errorKey: null, more: 1 },
      further: [1],
    }
    expect((await updating(answer(200, rule))).outcome).toMatchObject({ answer: rule })
  })

  test('that does not arrive leaves the outcome unknown, unless nothing was sent', async () => {
    const { outcome, requests } = await updating((response) => void response.destroy())
    expect(String(outcome)).toContain('it is not known whether rule 7 changed')
    expect(requests).toHaveLength(1)
    const unsent = await updating(answer(200), update, { baseUrl: 'http://127.0.0.1:1' })
    expect(String(unsent.outcome)).toMatch(/connection refused(?!.*not known)/)
  })
})

test('a difference between request and answer is found at any depth, with both values', () => {
  const asked = { ruleName: 'a', ruleConfiguration: { value: 'x', transformationTypes: [1, 2] }, id: 7 }
  expect(notShown(asked, { id: 7, ruleConfiguration: { transformationTypes: [1, 3] } })).toEqual([
    { field: 'ruleName', asked: 'a' },
    { field: 'ruleConfiguration.value', asked: 'x' },
    { field: 'ruleConfiguration.transformationTypes[1]', asked: 2, answered: 3 },
  ])
  expect(notShown(within({ value: 'x' }), within(null!))).toEqual([
    { field: 'ruleConfiguration.value', asked: 'x' },
  ])
})

test('different forms of an empty value are no difference, nor are further fields of the answer', () => {
  const asked = { ruleDescription: null, ...within({ transformationTypes: [], variableTypes: {} }) }
  expect(notShown(asked, { ruleDescription: '', ...within({ requestCount: 5 }) })).toEqual([])
  expect(notShown({}, undefined)).toEqual([])
})
