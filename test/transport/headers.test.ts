import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fingerprintOf } from '../../src/domain/event/fingerprint.ts'
import { backoffMs, httpDateOf, retryAfterMsOf } from '../../src/transport/retry.ts'
import { networkFailure } from '../../src/transport/network-failure.ts'

const hour = 3_600_000
const instant = Date.parse('1994-11-06T08:49:37Z')

describe('dates in headers', () => {
  it.each(['Sun, 06 Nov 1994 08:49:37 GMT', 'Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994'])(
    'reads %s',
    (text) => expect(httpDateOf(text)).toBe(instant),
  )

  it.each(['', 'now', '0', '1994-11-06', 'Sun, 99 Nov 1994 08:49:37 GMT', 'Sun, 06 Nov 1994 08:49:37 CET'])(
    'ignores %j',
    (text) => expect(httpDateOf(text)).toBeUndefined(),
  )

  it('never throws, and returns only numbers', () => {
    fc.assert(fc.property(fc.string(), (text) => !Number.isNaN(httpDateOf(text) ?? 0)))
  })
})

describe('Retry-After', () => {
  it.each([
    ['5', 5000],
    [' 0 ', 0],
    ['1.5', 1500],
    ['999999999999999999999999', 60_000],
    ['Sun, 06 Nov 1994 08:49:47 GMT', 10_000],
    ['Sun, 06 Nov 1994 08:00:00 GMT', 0],
    ['Sun, 06 Nov 2094 08:00:00 GMT', 60_000],
  ])('reads %j', (retryAfter, expected) => {
    const date = new Date(instant).toUTCString()
    expect(retryAfterMsOf({ retryAfter, date }, instant + hour, 60_000)).toBe(expected)
    expect(retryAfterMsOf({ retryAfter, date }, instant - hour, 60_000)).toBe(expected)
    expect(retryAfterMsOf({ retryAfter, date: undefined }, instant, 60_000)).toBe(expected)
  })

  it.each([undefined, '', 'soon', '-5', '0x10', '1e9', 'NaN', 'Infinity'])('ignores %j', (retryAfter) =>
    expect(retryAfterMsOf({ retryAfter, date: undefined }, instant, 60_000)).toBeUndefined(),
  )

  it('is always between 0 and the limit', () => {
    const headers = fc.oneof(
      fc.string(),
      fc.nat().map(String),
      fc.date().map((date) => date.toUTCString()),
    )
    fc.assert(
      fc.property(headers, fc.nat({ max: 1e9 }), (text, maxMs) => {
        const waitMs = retryAfterMsOf({ retryAfter: text, date: undefined }, instant, maxMs)
        expect(waitMs === undefined || (waitMs >= 0 && waitMs <= maxMs)).toBe(true)
      }),
    )
  })
})

describe('back-off', () => {
  it('is between 0 and its limit', () => {
    fc.assert(
      fc.property(fc.nat(), fc.double({ min: 0, max: 0.999, noNaN: true }), (attempt, random) => {
        const ms = backoffMs(attempt, { baseMs: 100, maxMs: 5000 }, () => random)
        expect(ms).toBeGreaterThanOrEqual(0)
        expect(ms).toBeLessThanOrEqual(Math.min(5000, 100 * 2 ** attempt))
      }),
    )
  })
})

describe('errors of the network', () => {
  const coded = (code: string, cause?: unknown) =>
    Object.assign(new Error('https://u:hunter2@api.example/token', { cause }), { code })

  it.each([
    [coded('ECONNREFUSED'), 'network'],
    [coded('EAI_AGAIN'), 'network'],
    [coded('E2BIG'), 'network'],
    [coded('UND_ERR_SOCKET'), 'network'],
    [coded('HPE_INVALID_CONSTANT'), 'network'],
    [coded('UND_ERR_HEADERS_TIMEOUT'), 'timeout'],
    [new DOMException('late', 'TimeoutError'), 'timeout'],
    [coded('CERT_HAS_EXPIRED'), 'tls'],
    [coded('ERR_TLS_CERT_ALTNAME_INVALID'), 'tls'],
    [coded('EPROTO'), 'tls'],
    [coded('UND_ERR_PRX_TLS', coded('SELF_SIGNED_CERT_IN_CHAIN')), 'tls'],
    [coded('UND_ERR_PRX_CONN', coded('ECONNREFUSED')), 'network'],
    [new DOMException('stop', 'AbortError'), 'cancelled'],
    [coded('UND_ERR_CLOSED'), 'cancelled'],
    [coded('UND_ERR_INVALID_ARG'), 'rejected'],
  ])('%s is %s', (error, code) => {
    const failure = networkFailure(error, 'GET event-logs')
    expect(failure.code).toBe(code)
    expect(failure.message).not.toContain('hunter2')
  })

  it.each([
    [coded('ECONNREFUSED'), 'cannot connect to https://api.example: connection refused (ECONNREFUSED)'],
    [coded('ENOTFOUND'), 'cannot connect to https://api.example: the host name is unknown (ENOTFOUND)'],
    [
      coded('ECONNRESET'),
      'the connection to https://api.example failed: the connection was reset (ECONNRESET)',
    ],
    [coded('CERT_HAS_EXPIRED'), 'cannot make a trusted connection to https://api.example (CERT_HAS_EXPIRED)'],
    [coded('ETIMEDOUT'), 'no answer in time from https://api.example (ETIMEDOUT)'],
    [
      coded('UND_ERR_PRX_CONN', coded('ECONNREFUSED')),
      'cannot connect to the proxy: connection refused (ECONNREFUSED)',
    ],
  ])('%s names the address', (error, text) => {
    expect(networkFailure(error, 'GET', undefined, 'https://api.example').message).toBe(`GET: ${text}`)
  })

  it('a stop has priority over the error of the request', () => {
    const stopped = AbortSignal.abort(new Error('stop'))
    expect(networkFailure(coded('UND_ERR_SOCKET'), 'GET', stopped).code).toBe('cancelled')
    expect(networkFailure('anything', 'GET', stopped).code).toBe('cancelled')
  })

  it('never reports a wrong argument as an error of the network', () => {
    expect(() => networkFailure(coded('ERR_INVALID_ARG_TYPE'), 'GET')).toThrow()
  })

  it('does not change other errors', () => {
    const bug = new TypeError('x is not a function')
    expect(() => networkFailure(bug, 'GET')).toThrow(bug)
  })
})

describe('fingerprint', () => {
  it('depends on id and time, and is the same everywhere', () => {
    expect(fingerprintOf({ id: 'a' })).toBe(0x87428fc422803d31n)
    expect(fingerprintOf({ id: 'a' })).not.toBe(fingerprintOf({ id: 'a', time: '2026-01-01T00:00:00.000Z' }))
  })
})
