import { startOf } from '../../domain/day.ts'
import type { Delivery } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { Failure, isFailure } from '../../domain/failure.ts'
import { createInTurn, orAborted } from '../../domain/promises.ts'
import type { Stream } from '../../domain/stream.ts'
import { durationText } from '../../domain/text/time.ts'
import type { OpenOptions, Sink } from '../../ports/delivery.ts'
import type { SinkDeps } from '../deps.ts'
import { lineOf } from '../lines.ts'
import { createReconnection } from '../reconnection.ts'
import { Settlement, Tally, type Destination, type Sent } from '../settle.ts'
import type { KafkaSinkConfig } from './config.ts'
import { connect, type Message } from './link.ts'
import { assertKeeps, type TopicRules } from './topic.ts'

type KafkaSinkDeps = Pick<SinkDeps, 'format' | 'clock' | 'random'>
type Settings = Pick<
  KafkaSinkConfig,
  'name' | 'brokers' | 'topic' | 'compression' | 'timestamp' | 'sasl' | 'tls' | 'timeoutSeconds' | 'batch'
>

type Piece = Readonly<{ event: Event; bytes: number; message: Message }>

/** Key, headers and fields of a record besides the line. */
const envelopeBytes = 100
/** Longer than a batch may take to end after an abort, which keeps what was acknowledged. */
const graceMs = 3_000
/** An event that is younger is refused for its time because a clock is wrong. */
const surelyYoungMs = 600_000
/** So long the API lists an event. */
const listedMs = 3 * 86_400_000
const idHeader = Buffer.from('shieldlog-id')

/**
 * Writes messages to a topic, at least once: a delivery resolves when all replicas in sync have every message of it. One
 * batch is under way at a time, so that the messages of a zone keep their order. Within a session brokers drop
 * repeats; after a failed batch, which may have arrived, a new session sends it again.
 */
export function createKafkaSink(settings: Settings, deps: KafkaSinkDeps): Sink {
  const { name, brokers, topic, batch, timestamp } = settings
  const { clock, format } = deps
  const address = `kafka://${brokers.join(',')}/${topic}`
  const what = `sink ${name} (${address})`
  const inTurn = createInTurn()
  const tally = new Tally()
  const remedy = 'check the settings of the topic'
  const to: Destination<Piece> = { what, remedy, skipsTooOld: true, mask: String, send }
  const link = createReconnection((signal) => connect(settings, what, clock, signal), deps)

  async function send(pieces: readonly Piece[], signal: AbortSignal): Promise<Sent> {
    const messages = pieces.map(({ message }) => message)
    const refused = await (await link.open(signal)).send(messages, signal)
    if (refused === undefined) return { kind: 'delivered' }
    const { reason, answer } = refused
    if (reason !== 'bad_time') return { kind: 'split', reason, said: answer }
    if (pieces.length === 1 && clock.now() - Number(messages[0]!.timestamp) < surelyYoungMs) {
      const why = `${answer} to a time of the last minutes; check the clocks of the brokers and of this host`
      throw new Failure('retry', 'rejected', `${what}: ${why}`)
    }
    return { kind: 'split', reason: 'too_old', said: answer }
  }

  async function deliver(
    stream: Stream,
    events: readonly Event[],
    options: OpenOptions,
    signal: AbortSignal,
  ): Promise<Delivery> {
    const { zone, day } = stream
    const named = topicOf(zone)
    const settled = new Settlement({ ...deps, ...options, stream, tally, to, signal })

    function* batches(rules: TopicRules | undefined): Generator<Piece[]> {
      let [pieces, size]: [Piece[], number] = [[], 0]
      const { ageNow = () => clock.now() } = options
      const { maxAgeMs = Infinity } = rules ?? {}
      const nowMs = ageNow() ?? -Infinity
      for (const event of events) {
        const { timeMs = startOf(day) } = event
        // Brokers refuse a time ahead of theirs.
        const stampMs = timestamp === 'event' ? Math.min(Math.floor(timeMs), clock.now()) : clock.now()
        if (nowMs - stampMs > maxAgeMs) {
          settled.refuse(event, 'too_old', `not sent: ${limitOf(rules!)}`)
          continue
        }
        const line = lineOf(event, format, settled.refusals)
        if (line === undefined) continue
        const value = Buffer.from(line)
        const bytes = value.length + envelopeBytes
        if (pieces.length === batch.maxEvents || (pieces.length > 0 && size + bytes > batch.maxBytes)) {
          yield pieces
          ;[pieces, size] = [[], 0]
        }
        const key = Buffer.from(String(zone))
        const stamped = { timestamp: BigInt(stampMs), headers: headersOf(event) }
        pieces.push({ event, bytes: value.length, message: { topic: named, key, value, ...stamped } })
        size += bytes
      }
      if (pieces.length > 0) yield pieces
    }

    try {
      const rules = await (await link.open(signal)).rulesOf(named, signal)
      if (rules !== undefined) assertKeeps(named, rules, what)
      for (const pieces of batches(rules)) await settled.settle(pieces)
    } catch (error) {
      if (!isFailure(error)) throw error
      return await settled.delivery(error)
    }
    return await settled.delivery()
  }

  function noteOf(rules: TopicRules | undefined): string | undefined {
    if (rules === undefined || timestamp === 'arrival' || rules.maxAgeMs >= listedMs) return undefined
    return `${limitOf(rules)}: older events are not sent; with timestamp: arrival they are`
  }

  function topicOf(zone: number): string {
    return topic.replaceAll('{zone}', String(zone))
  }

  return {
    name,
    address,
    open: async (stream, options) => ({
      deliver(events, signal) {
        const delivered = inTurn(() => deliver(stream, events, options, signal))
        return orAborted(delivered, signal, { ms: graceMs, clock })
      },
      close: () => Promise.resolve(),
    }),
    async check(signal, zones = []) {
      const tried = await connect(settings, what, clock, signal)
      try {
        const topics = topic.includes('{zone}') ? zones.map(topicOf) : [topic]
        const untested = new Set<string>(topics.length === 0 ? ['the topics of the zones'] : [])
        let note: string | undefined
        for (const named of topics) {
          const rights = await tried.look(named, signal)
          const rules = await tried.rulesOf(named, signal)
          if (rules !== undefined) assertKeeps(named, rules, what)
          if (rights !== 'may write') untested.add('the right to write to the topic')
          if (rules === undefined)
            untested.add('how long the topic keeps records (needs DESCRIBE_CONFIGS on it)')
          note ??= noteOf(rules)
        }
        return {
          found: tried.found,
          ...(untested.size > 0 && { untested: [...untested].join(', ') }),
          ...(note !== undefined && { note }),
        }
      } finally {
        tried.close()
      }
    },
    close: async () => link.close(),
  }
}

/** The same for every try. */
function headersOf({ fingerprint }: Event): Map<Buffer, Buffer> {
  return new Map([[idHeader, Buffer.from(fingerprint.toString(16).padStart(16, '0'))]])
}

function limitOf({ maxAgeMs, maxAgeSetting }: TopicRules): string {
  return `the topic takes no record, or keeps none, that is older than ${durationText(maxAgeMs / 1000)} (${maxAgeSetting})`
}
