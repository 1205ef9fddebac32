import fc from 'fast-check'
import { expect, test } from 'vitest'
import { expectReply, isValid, problemType } from '../conform.ts'
import { errorsOfUpdate } from '../../../src/simulator/api/rate-limit-body.ts'
import { startAsking } from '../asking.ts'
import * as schemas from '../schemas.ts'

const path = '/shield/rate-limit/1'
const json = { 'content-type': 'application/json' }

function patch(body: string, headers: Record<string, string> = json) {
  return { method: 'PATCH', body, headers }
}

test('an update changes the given fields of a rule, and keeps the others', async () => {
  const { ask, simulator } = await startAsking({})
  const before = simulator.rateLimitRule(1)
  const reply = await ask(
    path,
    patch('{"ruleName":"New","ruleConfiguration":{"requestCount":7,"timeframe":10}}'),
  )
  expectReply(reply, 200, schemas.rateLimitRule)
  const expected = {
    ruleName: 'New',
    ruleDescription: before?.ruleDescription,
    ruleConfiguration: { ...before?.ruleConfiguration, requestCount: 7, timeframe: 10 },
  }
  expect(reply.json()).toMatchObject(expected)
  expect(simulator.rateLimitRule(1)).toMatchObject(expected)
  expectReply(await ask(path, patch('{"ruleName":null}')), 200, schemas.rateLimitRule)
  expect(simulator.rateLimitRule(1)?.ruleName).toBeNull()
})

test.each([
  'application/json',
  'text/json',
  'application/merge-patch+json',
  'Application/JSON; charset=utf-8',
])('accepts a body of type %s', async (type) => {
  const { ask } = await startAsking({})
  expectReply(await ask(path, patch('{}', { 'content-type': type })), 200, schemas.rateLimitRule)
})

test.each(['application/json', 'text/plain', 'text/json'])('answers as %s if requested', async (accept) => {
  const { ask } = await startAsking({})
  const reply = await ask(path, patch('{}', { ...json, accept: `${accept};q=0.9` }))
  expectReply(reply, 200, schemas.rateLimitRule, accept)
})

test('refuses what is not in the interface', async () => {
  const { ask, simulator } = await startAsking({})
  const before = simulator.rateLimitRule(1)
  expect((await ask(path, patch('{}', { 'content-type': 'text/plain' }))).status).toBe(415)
  expect((await ask(path, patch('{"ruleName":'))).status).toBe(400)
  expect((await ask(path, patch(`"${'x'.repeat(2_000_000)}"`))).status).toBe(413)
  const reply = await ask(path, patch('{"extra":1,"ruleConfiguration":{"operatorType":10,"timeframe":"1"}}'))
  expectReply(reply, 400, schemas.validationProblem, problemType)
  const { errors } = reply.json() as { errors: { field: string }[] }
  expect(errors.map((error) => error.field)).toEqual([
    'extra',
    'ruleConfiguration.operatorType',
    'ruleConfiguration.timeframe',
  ])
  expect(simulator.rateLimitRule(1)).toEqual(before)
})

test('errors have the shapes of this operation', async () => {
  const { ask, simulator } = await startAsking({ accessKey: 'secret' })
  expectReply(await ask(path, patch('{}')), 401, schemas.unauthorisedResult)
  const authorised = patch('{}', { ...json, AccessKey: 'secret' })
  expectReply(await ask('/shield/rate-limit/77', authorised), 202, schemas.failedRateLimitRule)
  simulator.fail({ fault: { kind: 'acceptedResult' } })
  expectReply(await ask(path, authorised), 202, schemas.acceptedResult)
  simulator.fail({ fault: { kind: 'status', status: 500 } })
  const broken = await ask(path, authorised)
  expect([broken.status, broken.text, broken.headers['content-type']]).toEqual([500, '', undefined])
  expect((await ask('/shield/rate-limit/2147483648', authorised)).status).toBe(400)
  expect((await ask(path, { headers: { AccessKey: 'secret' } })).status).toBe(405)
})

test('accepts exactly the bodies that the interface describes', () => {
  const part = fc.oneof(
    fc.constantFrom(0, 1, 10, 16, 30, 2 ** 31, 0.5, null, true, 'x'),
    fc.constant({ ARGS: '' }),
  )
  const names = [
    'operatorType',
    'timeframe',
    'blockTime',
    'requestCount',
    'isNegated',
    'variableTypes',
    'other',
  ]
  const object = fc.dictionary(fc.constantFrom(...names, 'value', 'counterKeyType', '__proto__'), part)
  const configuration = fc.oneof(
    object,
    fc.record({ chainedRuleConditions: fc.array(object), transformationTypes: fc.array(part) }),
  )
  const body = fc.oneof(
    fc.record({ ruleName: part, ruleConfiguration: configuration }, { requiredKeys: [] }),
    fc.record({ ruleConfiguration: configuration }),
    fc.jsonValue(),
  )
  fc.assert(
    fc.property(body, (value) => {
      const received = JSON.parse(JSON.stringify(value)) as unknown
      expect(errorsOfUpdate(received).length === 0).toBe(isValid(schemas.updateRequest, received))
    }),
    { numRuns: 2000 },
  )
})
