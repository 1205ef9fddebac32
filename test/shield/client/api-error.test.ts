import { describe, expect, it } from 'vitest'
import { type AnswerContext, failureOf } from '../../../src/shield/client/api-error.ts'

const context: AnswerContext = {
  what: 'event_logs of account main',
  token: undefined,
  keySetting: 'api.accessKeyFile',
  key: 'hunter2key',
  details: { serverDate: 5, requestId: 'r1' },
}
const withCursor = { ...context, token: 'token' }
const page = { logs: [], hasMoreData: false, continuationToken: '' }
const error = (errorKey: string | null, message: string | null = '', success = false) => ({
  logs: null,
  errorResponse: { success, message, errorKey },
})
/** They may repeat the request. */
const left = { type: 'about:blank', instance: '/mc' }
const zoneKey = 'not_found_or_unauthorised_access.shieldzone'

describe('the body decides before the status', () => {
  it.each([200, 202, 400, 401, 500])('a window error with status %d is recognised', (status) => {
    const errorKey = 'invalid_datetime_window.event_logs'
    for (const cursor of [context, withCursor])
      expect(failureOf(status, error(errorKey, 'past 3 days'), cursor)).toMatchObject({
        kind: 'refuse',
        code: 'window_closed',
        details: { serverDate: 5, requestId: 'r1', errorKey },
      })
  })

  it.each<[what: string, body: object, code: string | undefined, statuses?: readonly number[]]>([
    ['an unknown zone', error(zoneKey), 'zone_gone', [200, 202, 401, 404]],
    ['an unknown zone in an envelope `error`', { error: { errorKey: zoneKey } }, 'zone_gone', [200, 404]],
    ['an error without key and message', error(null, null), undefined],
    ['an error with empty texts', error('  ', ''), undefined],
    ['an error without key and message', error(null, null), 'server_error', [500]],
    ['success', error('key', 'all good', true), undefined],
    ['a message without a key', error('', 'broken'), 'rejected'],
    ['a key without a message', { errorKey: 'some_key' }, 'rejected'],
    ['an error without an envelope', { success: false, message: 'no', errorKey: null }, 'rejected'],
    ['a problem', { title: 'Not Found', status: 404 }, 'rejected'],
    ['a status alone', { statusCode: 401 }, 'unauthorised'],
    ['a status in an envelope', { error: { success: false, message: 'm', statusCode: 503 } }, 'server_error'],
    ['an error in the value of a result', { value: { success: false, message: 'no' } }, 'rejected'],
    ['an envelope in it', { value: { id: 7, ...error('', 'no') } }, 'rejected'],
    ['an envelope `error` in it', { location: null, value: { error: { errorKey: zoneKey } } }, 'zone_gone'],
    ['an envelope without a text in it', { value: { id: 7, ...error(null, null) } }, undefined],
    ['an envelope of success in it', { value: { id: 7, ...error('key', 'all good', true) } }, undefined],
    ['a problem in it', { value: { title: 'Not Found', status: 404 }, statusCode: 202 }, 'rejected'],
    ['a result of an error', { value: null, statusCode: 404 }, 'rejected'],
    ['no status in an envelope', { ...page, errorResponse: { statusCode: 0, success: false } }, undefined],
  ])('%s: %j is %s', (_, body, code, statuses = [200, 202]) => {
    for (const status of statuses) expect(failureOf(status, body, context)?.code).toBe(code)
  })
})

describe('then the status', () => {
  it.each([
    [401, 'unauthorised', 'stop'],
    [403, 'unauthorised', 'stop'],
    [408, 'timeout', 'retry'],
    [429, 'throttled', 'retry'],
    [500, 'server_error', 'retry'],
    [503, 'server_error', 'retry'],
    [301, 'rejected', 'refuse'],
    [404, 'rejected', 'refuse'],
    [400, 'rejected', 'refuse'],
  ])('%d is %s', (status, code, kind) => {
    for (const body of [
      undefined,
      null,
      'text',
      [],
      {},
      { Message: 'No.' },
      { title: 'T', detail: 'D', status },
    ])
      expect(failureOf(status, body, context)).toMatchObject({ code, kind })
  })

  it.each([400, 404, 410, 422])('%d with a cursor means that it expired', (status) => {
    expect(failureOf(status, undefined, withCursor)?.code).toBe('cursor_expired')
    expect(failureOf(status, error('invalid_plan_type.event_logs'), withCursor)?.code).toBe('rejected')
  })

  it('an error key for the cursor is recognised at any status', () => {
    for (const status of [200, 202, 401, 500])
      expect(failureOf(status, error('invalid_continuation_token'), withCursor)?.code).toBe('cursor_expired')
    expect(failureOf(401, error('invalid_token'), withCursor)?.code).toBe('unauthorised')
    expect(failureOf(200, error('never_seen_before'), withCursor)?.code).toBe('cursor_expired')
  })

  it.each([200, 201, 202, 204])('%d without an error is none', (status) => {
    for (const body of [page, undefined, null, 'text', [], {}, { Message: 'hm' }])
      expect(failureOf(status, body, context)).toBeUndefined()
  })
})

it.each([401, 403])('%d with a body that is no JSON is no answer of the API about the key', (status) => {
  const stranger = { ...context, instead: 'the answer is no JSON but HTML' }
  expect(failureOf(status, undefined, stranger)).toMatchObject({ kind: 'retry', code: 'rejected' })
  expect(failureOf(status, undefined, withCursor)).toMatchObject({ code: 'unauthorised' })
})

describe('messages', () => {
  it.each([
    [error('some_key', 'Some text'), 'some_key: Some text'],
    [{ Message: 'Core style' }, 'Core style'],
    [
      { title: 'Bad', detail: 'Because', errors: [{ field: 'date', message: 'wrong' }], id: 'p-1', ...left },
      'refuses the request (status 400): Bad; Because; date wrong; problem id p-1',
    ],
    [{ title: 'Bad', errors: { zone: ['a', 'b'] } }, 'Bad; zone a, b'],
    [{ title: 'Bad', errorKey: 'k' }, 'k: Bad'],
  ])('contain the message of the API: %j', (body, text) => {
    expect(failureOf(400, body, context)?.message).toContain(text)
  })

  it('and details contain neither key nor control characters, and are cut', () => {
    const key = 'hunter2/key+'
    const said = 'k.hunter2/key+.hunter2%2Fkey%2B'
    const body = error(said, `${said}\n\u001b[31m${'x'.repeat(5000)}`)
    const { message = '', details } =
      failureOf(400, body, { ...context, key, details: { requestId: said } }) ?? {}
    expect(details).toMatchObject({ errorKey: 'k.***.***', requestId: 'k.***.***' })
    expect(message).not.toMatch(/hunter2|\p{C}/u)
    expect(message.length).toBeLessThan(500)
  })
})
