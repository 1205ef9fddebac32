import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type AnswerContext, failureOf, parseBody } from '../../../src/shield/client/api-error.ts'

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
  hasMoreData: false,
  continuationToken: null,
  errorResponse: { success, message, errorKey },
})

describe('the body decides before the status', () => {
  it.each([200, 202, 400, 401, 500])('a window error with status %d is recognised', (status) => {
    for (const cursor of [context, withCursor]) {
      expect(
        failureOf(status, error('invalid_datetime_window.event_logs', 'past 3 days'), cursor),
      ).toMatchObject({
        kind: 'refuse',
        code: 'window_closed',
        details: { serverDate: 5, requestId: 'r1', errorKey: 'invalid_datetime_window.event_logs' },
      })
    }
  })

  it.each([200, 202, 401, 404])('an unknown zone with status %d is recognised', (status) => {
    expect(failureOf(status, error('not_found_or_unauthorised_access.shieldzone'), context)?.code).toBe(
      'zone_gone',
    )
    expect(
      failureOf(status, { error: { errorKey: 'not_found_or_unauthorised_access.shieldzone' } }, context)
        ?.code,
    ).toBe('zone_gone')
  })

  it.each([
    [null, null],
    ['', ''],
    ['  ', null],
  ])('success false with key %j and message %j is no error', (key, message) => {
    expect(failureOf(200, error(key, message), context)).toBeUndefined()
    expect(failureOf(202, error(key, message), context)).toBeUndefined()
    expect(failureOf(500, error(key, message), context)?.code).toBe('server_error')
  })

  it('success true is no error, whatever else the body has', () => {
    expect(failureOf(200, error('key', 'all good', true), context)).toBeUndefined()
  })

  it('a message without a key is an error, and a key without a message', () => {
    expect(failureOf(200, error('', 'broken'), context)?.code).toBe('rejected')
    expect(failureOf(200, { errorKey: 'some_key' }, context)?.details.errorKey).toBe('some_key')
    expect(failureOf(200, { success: false, message: 'no', errorKey: null }, context)?.code).toBe('rejected')
  })

  it('an error in the body is recognised with a status of success', () => {
    expect(failureOf(200, { title: 'Not Found', status: 404 }, context)?.code).toBe('rejected')
    expect(failureOf(202, { statusCode: 401 }, context)?.code).toBe('unauthorised')
    expect(failureOf(202, { error: { success: false, message: 'm', statusCode: 503 } }, context)?.code).toBe(
      'server_error',
    )
    expect(
      failureOf(200, { ...page, errorResponse: { statusCode: 0, success: false } }, context),
    ).toBeUndefined()
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

describe('messages', () => {
  it('contain the message of the API, in each of its forms', () => {
    const told = (body: unknown) => failureOf(400, body, context)?.message
    expect(told(error('some_key', 'Some text'))).toContain('some_key: Some text')
    expect(told({ Message: 'Core style' })).toContain('Core style')
    expect(
      told({ title: 'Bad', detail: 'Because', errors: [{ field: 'date', message: 'wrong' }] }),
    ).toContain('Bad; Because; date wrong')
    expect(told({ title: 'Bad', errors: { zone: ['a', 'b'] } })).toContain('Bad; zone a, b')
    expect(told({ title: 'Bad', errorKey: 'k' })).toContain('k: Bad')
  })

  it('contain neither key nor control characters, and are cut', () => {
    const message =
      failureOf(400, { Message: `key hunter2key\n\u001b[31m${'x'.repeat(5000)}` }, context)?.message ?? ''
    expect(message).not.toContain('hunter2key')
    expect(message).not.toMatch(/\p{C}/u)
    expect(message.length).toBeLessThan(500)
  })

  it('come with details that do not contain the key', () => {
    const key = 'hunter2/key+'
    const said = 'k.hunter2/key+.hunter2%2Fkey%2B'
    const failure = failureOf(400, error(said, said), { ...context, key, details: { requestId: said } })
    expect(failure?.details).toMatchObject({ errorKey: 'k.***.***', requestId: 'k.***.***' })
    expect(failure?.message).not.toContain('hunter2')
  })

  it('are bounded text for any answer', () => {
    const part = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom('invalid_datetime_window', 'm', true, false, 404, null),
    )
    const envelope = fc.oneof(
      fc.jsonValue(),
      fc.record({ success: part, message: part, errorKey: part, statusCode: part }, { requiredKeys: [] }),
    )
    const body = fc.oneof(
      fc.jsonValue(),
      envelope,
      fc.record(
        { errorResponse: envelope, error: envelope, title: part, status: part, errors: part, Message: part },
        { requiredKeys: [] },
      ),
    )
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), body, fc.boolean(), (status, value, hasCursor) => {
        const failure = failureOf(status, value, hasCursor ? withCursor : context)
        if (status < 200 || status > 299) expect(failure).toBeDefined()
        if (failure === undefined) return
        expect(failure.message.length).toBeLessThan(500)
        if (failure.code === 'cursor_expired') expect(hasCursor).toBe(true)
        if (failure.code === 'window_closed')
          expect(failure.details.errorKey).toContain('invalid_datetime_window')
      }),
      { numRuns: 2000 },
    )
  })
})

describe('bodies', () => {
  it('are JSON in UTF-8, with or without a byte order mark, and one bad byte does not lose a page', () => {
    expect(parseBody(Buffer.from('\ufeff{"a":1}'))).toEqual({ a: 1 })
    expect(parseBody(Buffer.from([0x22, 0xff, 0x22]))).toBe('\ufffd')
    for (const text of ['', '<html>', '{"a":', 'NaN']) expect(parseBody(Buffer.from(text))).toBeUndefined()
  })
})
