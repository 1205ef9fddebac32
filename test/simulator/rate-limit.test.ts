import { expect, test } from 'vitest'
import { expectReply, problemType } from './conform.ts'
import { startAsking } from './asking.ts'
import * as schemas from './schemas.ts'

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
    'ruleConfiguration.operatorType',
    'ruleConfiguration.timeframe',
    'extra',
  ])
  expect(simulator.rateLimitRule(1)).toEqual(before)
})

test('errors have the shapes of this operation', async () => {
  const { ask } = await startAsking({ accessKey: 'secret' })
  expectReply(await ask(path, patch('{}')), 401, schemas.unauthorisedResult)
  const authorised = patch('{}', { ...json, AccessKey: 'secret' })
  expectReply(await ask('/shield/rate-limit/77', authorised), 202, schemas.failedRateLimitRule)
  expect((await ask('/shield/rate-limit/2147483648', authorised)).status).toBe(400)
  expect((await ask(path, { headers: { AccessKey: 'secret' } })).status).toBe(405)
})
