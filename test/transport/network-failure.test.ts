import { expect, it } from 'vitest'
import { networkFailure } from '../../src/transport/network-failure.ts'

const coded = (code: string, cause?: unknown) =>
  Object.assign(new Error('https://u:hunter2@api.example/token', { cause }), { code })
const unparsed = Object.assign(new Error('x'), { name: 'HTTPParserError' })

it.each([
  [coded('ECONNREFUSED'), 'network', /^GET: cannot connect to O: connection refused \(ECONNREFUSED\); check/],
  [coded('ENOTFOUND'), 'network', /cannot connect to O: the host name is unknown \(ENOTFOUND\); .*DNS/],
  [coded('EAI_AGAIN'), 'network', /could not be looked up/],
  [
    coded('ECONNRESET'),
    'network',
    /^GET: the connection to O failed: the connection was reset \(ECONNRESET\)$/,
  ],
  [coded('E2BIG'), 'network', /the connection to O failed \(E2BIG\)/],
  [coded('UND_ERR_SOCKET'), 'network', /closed before the answer was complete/],
  [coded('HPE_INVALID_CONSTANT'), 'network', /failed/],
  [unparsed, 'network', /the answer from O is not HTTP/],
  [
    coded('UND_ERR_CONNECT_TIMEOUT'),
    'timeout',
    /no connection within 10 s from O \(UND_ERR_CONNECT_TIMEOUT\)$/,
  ],
  [coded('ETIMEDOUT'), 'timeout', /no answer within the time that the system allows from O \(ETIMEDOUT\)/],
  [
    new DOMException('no answer within 30 s', 'TimeoutError'),
    'timeout',
    /^GET: no answer within 30 s from O$/,
  ],
  [coded('CERT_HAS_EXPIRED'), 'tls', /cannot make a trusted connection to O \(CERT_HAS_EXPIRED\); .*expired/],
  [coded('ERR_TLS_CERT_ALTNAME_INVALID'), 'tls', /another name/],
  [coded('DEPTH_ZERO_SELF_SIGNED_CERT'), 'tls', /tls\.caFile/],
  [coded('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'), 'tls', /tls\.certFile/],
  [coded('EPROTO'), 'tls', /speaks TLS/],
  [coded('UND_ERR_PRX_TLS', coded('SELF_SIGNED_CERT_IN_CHAIN')), 'tls', /to the proxy .SELF_SIGNED/],
  [
    coded('UND_ERR_PRX_CONN', coded('ECONNREFUSED')),
    'network',
    /connect to the proxy: .*; check HTTPS_PROXY/,
  ],
  [new DOMException('stop', 'AbortError'), 'cancelled', /./],
  [coded('UND_ERR_CLOSED'), 'cancelled', /./],
  [coded('UND_ERR_INVALID_ARG'), 'rejected', /check them/],
])('%s is %s, says at which step and what to do, and shows no secret', (error, code, text) => {
  const failure = networkFailure(error, 'GET', undefined, 'O')
  expect(failure.code).toBe(code)
  expect(failure.message).toMatch(text)
  expect(failure.message).not.toContain('hunter2')
})

it('a stop has priority over the error of the request', () => {
  const stopped = AbortSignal.abort(new Error('stop'))
  expect(networkFailure(coded('UND_ERR_SOCKET'), 'GET', stopped).code).toBe('cancelled')
  expect(networkFailure('anything', 'GET', stopped).code).toBe('cancelled')
})

it('does not change other errors', () => {
  const bug = new TypeError('x is not a function')
  expect(() => networkFailure(bug, 'GET')).toThrow(bug)
  expect(() => networkFailure(coded('ERR_INVALID_ARG_TYPE'), 'GET')).toThrow()
})
