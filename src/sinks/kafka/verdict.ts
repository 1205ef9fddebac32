import { Failure, isFailure } from '../../domain/failure.ts'
import { networkFailure } from '../../transport/network-failure.ts'

/** Why brokers do not take messages, whoever sends them: to be halved; of a single one, the event is refused. */
export interface Refused {
  readonly reason: 'too_large' | 'refused'
  readonly answer: string
}

/** What brokers answer that a person has to change, and how. */
const stops: readonly (readonly [RegExp, why: string, remedy: string])[] = [
  [/^UNSUPPORTED_SASL_MECHANISM$/, 'the broker does not offer this mechanism', 'check sasl.mechanism'],
  [/^(?:SASL_AUTHENTICATION_FAILED|PLT_KFK_AUTHENTICATION)$/, 'the login was refused', 'check sasl'],
  [/^TOPIC_AUTHORIZATION_FAILED$/, 'no rights on the topic', 'grant the user WRITE and DESCRIBE on it'],
  [
    /^CLUSTER_AUTHORIZATION_FAILED$/,
    'no right to write idempotently',
    'grant the user WRITE on the topic, and before Kafka 3.0 IDEMPOTENT_WRITE on the cluster',
  ],
  [/^Unknown topic |^INVALID_TOPIC_EXCEPTION$/, 'the topic does not exist', 'create it, or check topic'],
  [/^UNSUPPORTED_COMPRESSION_TYPE$/, 'it does not take this compression', 'set compression: gzip or none'],
  [
    /^(?:UNSUPPORTED_(?:VERSION|FOR_MESSAGE_FORMAT)|PLT_KFK_UNSUPPORTED_API)$/,
    'it is too old',
    'use Kafka 2.5 or later',
  ],
  [/^INVALID_REQUIRED_ACKS$/, 'it does not take acks=all', 'use a broker that does'],
  [/^Broker requires TLS/, 'the port speaks TLS', 'set tls: {}'],
  [/^TLS handshake failed/, 'the port does not speak TLS', 'check the port, or remove tls'],
]
const refusals: readonly (readonly [RegExp, Refused['reason']])[] = [
  [/^(?:MESSAGE_TOO_LARGE|RECORD_LIST_TOO_LARGE)$/, 'too_large'],
  [/^(?:INVALID_RECORD|INVALID_TIMESTAMP)$/, 'refused'],
]

/** What the brokers refused, if it was the messages; throws any other error. */
export function refusedBy(error: unknown): Refused {
  const said = wordsOf(error)
  for (const [words, reason] of refusals) {
    const word = said.find((each) => words.test(each))
    if (word !== undefined) return { reason, answer: `the broker answered ${word}` }
  }
  throw error
}

/**
 * What an error of the client means: `stop` with the remedy where a person has to act, else `retry`. Never the text of a
 * broker, which may hold a user name.
 */
export function failureOf(error: unknown, what: string): Failure {
  if (isFailure(error)) return error
  const said = wordsOf(error)
  for (const [words, why, remedy] of stops) {
    const word = said.find((each) => words.test(each))
    if (word === undefined) continue
    const named = /^[A-Z_]+$/.test(word) ? ` (${word.replace('PLT_KFK_', '')})` : ''
    return new Failure('stop', 'sink_refuses', `${what}: ${why}${named}; ${remedy}`, { cause: error })
  }
  const system = causesOf(error).find((each) => 'code' in each && !String(each.code).startsWith('PLT_'))
  if (system !== undefined) {
    const failure = networkFailure(system, what)
    return failure.code === 'tls' ? new Failure('stop', 'tls', failure.message, { cause: error }) : failure
  }
  // What is no error of the client is a bug.
  if (!said.some((word) => word.startsWith('PLT_KFK_'))) throw error
  const retry = (code: Failure['code'], why: string) =>
    new Failure('retry', code, `${what}: ${why}`, { cause: error })
  const answered = said.findLast((word) => /^[A-Z]+(?:_[A-Z]+)+$/.test(word) && !word.startsWith('PLT_'))
  if (answered !== undefined) return retry('server_error', `the broker answered ${answered}`)
  if (said.some((word) => / timed out/.test(word)))
    return retry('timeout', 'no answer in time; check brokers')
  return retry('network', 'the connection was closed; check brokers and what the broker logs')
}

/** Names of the protocol, codes and texts of the client: of an error and of all that it is made of. */
function wordsOf(error: unknown): string[] {
  return causesOf(error).flatMap((each) => {
    const words: unknown[] = [Reflect.get(each, 'apiId'), Reflect.get(each, 'code'), each.message]
    return words.filter((word) => typeof word === 'string')
  })
}

function causesOf(error: unknown, depth = 0): Error[] {
  if (!(error instanceof Error) || depth > 8) return []
  const inner: unknown[] =
    error instanceof AggregateError ? [...(error.errors as unknown[]), error.cause] : [error.cause]
  return [error, ...inner.flatMap((each) => causesOf(each, depth + 1))]
}
