import {
  AuthenticationError,
  MultipleErrors,
  NetworkError,
  ProtocolError,
  UserError,
} from '@platformatic/kafka'
import { expect, test } from 'vitest'
import { failureOf, refusedBy } from '../../../src/sinks/kafka/link.ts'

const of = (id: string) => new MultipleErrors('produce failed', [new ProtocolError(id)])
const closed = new NetworkError('Connection failed', {
  cause: Object.assign(new Error('no'), { code: 'ECONNREFUSED' }),
})
const untrusted = new NetworkError('x', {
  cause: Object.assign(new Error('no'), { code: 'SELF_SIGNED_CERT_IN_CHAIN' }),
})

test.each([
  [of('TOPIC_AUTHORIZATION_FAILED'), 'stop', 'sink_refuses', /grant the user WRITE/],
  [new UserError('Unknown topic waf.'), 'stop', 'sink_refuses', /create it, or check topic/],
  [new NetworkError('x', { cause: new AuthenticationError('no') }), 'stop', 'sink_refuses', /check sasl$/],
  [of('NOT_LEADER_OR_FOLLOWER'), 'retry', 'server_error', /NOT_LEADER_OR_FOLLOWER/],
  [of('NOT_ENOUGH_REPLICAS'), 'retry', 'server_error', /NOT_ENOUGH_REPLICAS/],
  [of('OUT_OF_ORDER_SEQUENCE_NUMBER'), 'retry', 'server_error', /OUT_OF_ORDER_SEQUENCE_NUMBER/],
  [of('INVALID_PRODUCER_EPOCH'), 'retry', 'server_error', /INVALID_PRODUCER_EPOCH/],
  [closed, 'retry', 'network', /connection refused/],
  [untrusted, 'stop', 'tls', /tls.caFile/],
])('%s means what a person or the next try can do', (error, kind, code, message) => {
  const failure = failureOf(error, 'sink bus')
  expect(failure).toMatchObject({ kind, code })
  expect(failure.message).toMatch(message)
})

test('a message that is too large, or not valid, is refused; what is no error of the client is thrown', () => {
  expect(refusedBy(of('MESSAGE_TOO_LARGE'))).toMatchObject({ reason: 'too_large' })
  expect(refusedBy(of('INVALID_RECORD'))).toMatchObject({ reason: 'refused' })
  expect(refusedBy(of('INVALID_TIMESTAMP'))).toMatchObject({ reason: 'bad_time' })
  expect(() => refusedBy(closed)).toThrow(closed)
  expect(() => failureOf(new TypeError('bug'), 'sink bus')).toThrow('bug')
})

test.each([
  [['127.0.0.1:9092'], 'kafka-0.internal:9092', true],
  [['kafka-0.internal:9092'], 'kafka-0.internal:9092', false],
  [['first:9092', 'kafka-0.internal'], 'kafka-0.internal:9092', false],
  [['kafka-0.internal'], 'kafka-0.internal:9093', true],
  [['[::1]:9092'], '::1:9092', false],
])(
  'with brokers %j a failed connection to %s blames the address of a broker: %s',
  (brokers, address, isNamed) => {
    const cause = Object.assign(new Error('no'), { code: 'ENOTFOUND' })
    const error = new MultipleErrors('x', [new NetworkError(`Connection to ${address} failed.`, { cause })])
    const { message } = failureOf(error, 'sink bus', brokers)
    const named = `sink bus: ${address}, which a broker gives as its address (advertised.listeners): cannot connect`
    expect(message.startsWith(named)).toBe(isNamed)
    expect(message).toMatch(/cannot connect: the host name is unknown \(ENOTFOUND\)/)
  },
)
