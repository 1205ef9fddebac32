import { isIP } from 'node:net'
import type * as Kafka from '@platformatic/kafka'
import { cancelled, Failure, isFailure } from '../../domain/failure.ts'
import { orAborted, within } from '../../domain/promises.ts'
import type { Clock } from '../../ports/process.ts'
import { pemAtConnect } from '../../domain/tls.ts'
import { networkFailure } from '../../transport/network-failure.ts'
import { maxRestMs, maxRetryAfterMs } from '../../transport/retry.ts'
import type { KafkaSinkConfig } from './config.ts'
import { readTopicRules, topicSettings, type TopicRules } from './topic.ts'

export type Message = Kafka.MessageToProduce

/** A session of an idempotent producer: brokers drop what it sends twice. Its first failure ends it. */
export type Link = Awaited<ReturnType<typeof connect>>

type Settings = Pick<KafkaSinkConfig, 'brokers' | 'compression' | 'sasl' | 'tls' | 'timeoutSeconds'>

/** After an abort, a request that is under way may still be acknowledged: else its events would arrive twice. */
const graceMs = 2_000
const connectMs = 10_000
/** Together 8 s: the time in which a partition gets another leader. */
const tries = 5
const pauseMs = (attempt: number) => Math.min(250 * 2 ** attempt, 3_000)
/** The settings of a topic may change during a session. */
const rulesForMs = 300_000

/**
 * Connects, logs in and begins a session. Throws Failure. The client is loaded here, because it takes half a second:
 * who has no such sink does not wait for it.
 */
export async function connect(settings: Settings, what: string, clock: Clock, signal: AbortSignal) {
  const kafka = await import('@platformatic/kafka')
  const { brokers, tls, timeoutSeconds } = settings
  const timeoutMs = timeoutSeconds * 1000
  const producer = producerOf(kafka, settings)
  const connections = new Set<Kafka.Connection>()
  producer.connections.on('connecting', ({ connection }) => {
    connections.add(connection)
    connection.once('close', () => connections.delete(connection))
    // A second error of a connection would have no listener and end the process.
    connection.on('error', () => undefined)
  })
  let broken: Failure | undefined
  const rules = new Map<string, { readonly rules: TopicRules | undefined; readonly untilMs: number }>()
  /** A broker answers a client above its quota at once, and its next request only when this time has passed. */
  let throttledUntilMs = 0
  const { asyncStart: answers } = kafka.connectionsApiChannel
  function watch(message: unknown): void {
    const { connection, result } = message as {
      readonly connection: Kafka.Connection
      readonly result?: unknown
    }
    const throttleMs: unknown = connections.has(connection) && Reflect.get(Object(result), 'throttleTimeMs')
    if (typeof throttleMs !== 'number') return
    throttledUntilMs = Math.max(throttledUntilMs, clock.monotonic() + Math.min(throttleMs, maxRetryAfterMs))
  }
  answers.subscribe(watch)

  function end(why: Failure): void {
    if (broken !== undefined) return
    broken = why
    answers.unsubscribe(watch)
    // The client cannot be aborted. Without sockets its waits end; closed, it begins no further ones.
    producer.close().catch(() => undefined)
    for (const { socket } of connections) (socket as typeof socket | undefined)?.destroy()
  }

  /** Any failure ends the session, so that its numbers never have a hole. */
  async function ask<Answer>(work: () => Promise<Answer>, signal: AbortSignal): Promise<Answer> {
    try {
      if (broken !== undefined) throw broken
      if (signal.aborted) throw cancelled(signal.reason)
      const answer = await orAborted(within(timeoutMs, work(), clock), signal, { ms: graceMs, clock })
      if (answer === 'late')
        throw new Failure('retry', 'timeout', `${what}: no acknowledgement within ${timeoutSeconds} s`)
      return answer.value
    } catch (error) {
      // An end from outside closes the connections: that is the reason, not the error that follows from it.
      const failure = broken ?? failureOf(error, what, brokers)
      end(failure)
      throw failure
    }
  }

  async function rest(signal: AbortSignal): Promise<void> {
    const leftMs = Math.ceil(throttledUntilMs - clock.monotonic())
    if (leftMs <= 0) return
    if (leftMs <= maxRestMs) return clock.sleep(leftMs, signal)
    const why = `${what}: the brokers slow this client down to its quota`
    throw new Failure('wait', 'throttled', why, { retryAt: clock.now() + leftMs })
  }

  await ask(async () => {
    // Without further tries: a login that is refused again and again may be locked.
    await producer.metadata({ topics: [], retries: 0 })
    await producer.initIdempotentProducer({})
  }, signal)

  return {
    /** What the topic does with records; undefined where that is not known. Throws Failure. */
    async rulesOf(topic: string, signal: AbortSignal): Promise<TopicRules | undefined> {
      const held = rules.get(topic)
      if (held !== undefined && clock.monotonic() < held.untilMs) return held.rules
      await rest(signal)
      const read = await ask(() => askRules(kafka, connections, topic), signal)
      rules.set(topic, { rules: read, untilMs: clock.monotonic() + rulesForMs })
      return read
    },
    /**
     * Resolves when all replicas in sync have every message: to what was refused, if the brokers will never take them.
     * Throws Failure: `throttled` (wait) for a quota, which does not end the session.
     */
    async send(messages: Message[], signal: AbortSignal): Promise<Refused | undefined> {
      await rest(signal)
      return await ask(async () => {
        // Here an unknown topic is known at once; a batch would be tried for seconds.
        await producer.metadata({ topics: [messages[0]!.topic], retries: 1 })
        return await producer.send({ messages }).then(() => undefined, refusedBy)
      }, signal)
    },
    /** Looks for a topic, and for the right to write to it. Throws Failure. */
    look: (topic: string, signal: AbortSignal) =>
      ask(async () => {
        await producer.metadata({ topics: [topic], retries: 1 })
        const [connection] = [...(await producer.connectToBrokers()).values()]
        // The newest version that most others than Kafka itself speak.
        const { topics } = await kafka.metadataV8.api
          .async(connection!, [topic], false, true, false)
          .catch(() => ({ topics: [] }))
        const rights = topics[0]?.topicAuthorizedOperations ?? unknownRights
        if (rights === unknownRights) return 'unknown rights'
        if ((rights & mayWrite) !== 0) return 'may write'
        const why = `${what}: no right to write to topic ${topic}; grant the user WRITE on it`
        throw new Failure('stop', 'sink_refuses', why)
      }, signal),
    /** For people. */
    get found() {
      const count = producer.currentMetadata?.brokers.size ?? 0
      const how = tls === undefined ? 'unencrypted' : 'over TLS'
      return `connected ${how}, ${count} ${count === 1 ? 'broker' : 'brokers'}`
    },
    broken: () => broken,
    close: () => end(cancelled()),
  }
}

function producerOf(kafka: typeof Kafka, settings: Settings): Kafka.Producer {
  const { brokers, compression, tls, timeoutSeconds } = settings
  const timeout = timeoutSeconds * 1000
  return new kafka.Producer({
    clientId: 'shieldlog',
    bootstrapBrokers: [...brokers],
    idempotent: true,
    // Else the client claims to continue the session of producer 0.
    producerId: -1n,
    producerEpoch: -1,
    compression,
    retries: tries,
    retryDelay: (_client, _operation, attempt) => pauseMs(attempt),
    timeout,
    requestTimeout: timeout,
    connectTimeout: Math.min(timeout, connectMs),
    autocreateTopics: false,
    ...(settings.sasl && { sasl: saslOf(settings.sasl) }),
    ...(tls && { tls: pemAtConnect(tls) }),
    // Clusters in the cloud find the broker by the name; an address must not be sent as one.
    tlsServerName: brokers.every((broker) => isIP(broker.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')) === 0),
  })
}

/** Undefined where the brokers do not tell: they need a right for it. */
async function askRules(
  kafka: typeof Kafka,
  connections: ReadonlySet<Kafka.Connection>,
  topic: string,
): Promise<TopicRules | undefined> {
  const connection = [...connections].find((each) => each.isConnected())
  if (connection === undefined) return undefined
  const asked = { resourceType: 2 as const, resourceName: topic, configurationKeys: topicSettings }
  // The oldest version that Kafka 4 speaks.
  const { results } = await kafka.describeConfigsV1.api
    .async(connection, [asked])
    .catch(() => ({ results: [] }))
  const configs = results[0]?.configs
  return configs && readTopicRules(new Map(configs.map(({ name, value }) => [name, value] as const)))
}

/** Bits of the operations of a topic; brokers that do not tell give the smallest number. */
const mayWrite = 1 << 4
const unknownRights = -(2 ** 31)

/** Read again for each connection: tokens expire, and passwords change. */
function saslOf({ mechanism, username, password, token }: NonNullable<Settings['sasl']>): Kafka.SASLOptions {
  const read = (secret: typeof password) => () => {
    secret?.reread()
    return secret?.reveal() ?? ''
  }
  const named = mechanism.toUpperCase() as Kafka.SASLOptions['mechanism']
  if (mechanism === 'oauthbearer') return { mechanism: named, token: read(token) }
  return { mechanism: named, username: username ?? '', password: read(password) }
}

/** Why brokers do not take messages, whoever sends them: to be halved; of a single one, the event is refused. */
export interface Refused {
  readonly reason: 'too_large' | 'refused' | 'bad_time'
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
  [/^INVALID_TIMESTAMP$/, 'bad_time'],
  [/^INVALID_RECORD$/, 'refused'],
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
export function failureOf(error: unknown, what: string, brokers: readonly string[] = []): Failure {
  if (isFailure(error)) return error
  const said = wordsOf(error)
  for (const [words, why, remedy] of stops) {
    const word = said.find((each) => words.test(each))
    if (word === undefined) continue
    const [, topic, code] = /^(?:Unknown topic (\S+?)\.?|(?:PLT_KFK_)?([A-Z_]+))$/.exec(word) ?? []
    const named = topic ?? code
    const about = named === undefined ? '' : ` (${named})`
    return new Failure('stop', 'sink_refuses', `${what}: ${why}${about}; ${remedy}`, { cause: error })
  }
  const at = `${what}${advertisedOf(error, brokers)}`
  const system = causesOf(error).find((each) => 'code' in each && !String(each.code).startsWith('PLT_'))
  if (system !== undefined) {
    const failure = networkFailure(system, at)
    return failure.code === 'tls' ? new Failure('stop', 'tls', failure.message, { cause: error }) : failure
  }
  // What is no error of the client is a bug.
  if (!said.some((word) => word.startsWith('PLT_KFK_'))) throw error
  const retry = (code: Failure['code'], why: string) =>
    new Failure('retry', code, `${at}: ${why}`, { cause: error })
  const answered = said.findLast((word) => /^[A-Z]+(?:_[A-Z]+)+$/.test(word) && !word.startsWith('PLT_'))
  if (answered !== undefined) return retry('server_error', `the broker answered ${answered}`)
  if (said.some((word) => / timed out/.test(word)))
    return retry('timeout', 'no answer in time; check brokers')
  return retry('network', 'the connection was closed; check brokers and what the broker logs')
}

/** Names the address that failed, if it is none of those that are configured: brokers name each other. */
function advertisedOf(error: unknown, brokers: readonly string[]): string {
  const addresses = causesOf(error).map(
    ({ message }) => /^Connection to (\S+) (?:failed|timed out)/.exec(message)?.[1],
  )
  const own = brokers.map((broker) => broker.replace(/[[\]]/g, '').replace(/^[^:]+$/, '$&:9092'))
  const other = addresses.find((address) => address !== undefined && !own.includes(address))
  return other === undefined ? '' : `: ${other}, which a broker gives as its address (advertised.listeners)`
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
