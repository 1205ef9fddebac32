import { startOf } from '../../domain/day.ts'
import type { Delivery, Refusal } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { Failure, isFailure } from '../../domain/failure.ts'
import { createInTurn, orAborted } from '../../domain/promises.ts'
import type { Stream } from '../../domain/stream.ts'
import type { OpenOptions, Sink } from '../../ports/delivery.ts'
import type { SinkDeps } from '../deps.ts'
import { lineOf } from '../lines.ts'
import { createReconnection } from '../reconnection.ts'
import type { KafkaSinkConfig } from './config.ts'
import { connect, type Link, type Message } from './link.ts'

type KafkaSinkDeps = Pick<SinkDeps, 'format' | 'clock' | 'random'>
type Settings = Pick<
  KafkaSinkConfig,
  'name' | 'brokers' | 'topic' | 'compression' | 'sasl' | 'tls' | 'timeoutSeconds' | 'batch'
>

type Piece = Readonly<{ event: Event; message: Message }>

/** Key, headers and fields of a record besides the line. */
const envelopeBytes = 100
/** Longer than a batch may take to end after an abort, which keeps what was acknowledged. */
const graceMs = 3_000
const idHeader = Buffer.from('shieldlog-id')

/**
 * Writes messages to a topic, at least once: a delivery resolves when all replicas in sync have every message of it. One
 * batch is under way at a time, so that the messages of a zone keep their order. Within a session brokers drop
 * repeats; after a failed batch, which may have arrived, a new session sends it again.
 */
export function createKafkaSink(settings: Settings, deps: KafkaSinkDeps): Sink {
  const { name, brokers, topic, batch } = settings
  const { clock, format } = deps
  const address = `kafka://${brokers.join(',')}/${topic}`
  const what = `sink ${name} (${address})`
  const inTurn = createInTurn()
  const link = createReconnection((signal) => connect(settings, what, clock, signal), deps)

  async function deliver(
    { zone, day }: Stream,
    events: readonly Event[],
    { hasTaken, refusalsStand = false }: OpenOptions,
    signal: AbortSignal,
  ): Promise<Delivery> {
    const to = { topic: topic.replaceAll('{zone}', String(zone)), key: Buffer.from(String(zone)) }
    const taken: Event[] = []
    const refusals: Refusal[] = []
    let bytes = 0
    let failure: Failure | undefined

    async function send(pieces: readonly Piece[], by: Link): Promise<void> {
      const messages = pieces.map(({ message }) => message)
      const refused = await by.send(messages, signal)
      if (refused === undefined) {
        for (const { event, message } of pieces) {
          taken.push(event)
          bytes += message.value!.length
        }
      } else if (pieces.length === 1) refusals.push({ event: pieces[0]!.event, ...refused })
      else {
        const half = Math.ceil(pieces.length / 2)
        await send(pieces.slice(0, half), by)
        await send(pieces.slice(half), by)
      }
    }

    function* batches(): Generator<Piece[]> {
      let [pieces, size]: [Piece[], number] = [[], 0]
      for (const event of events) {
        const line = lineOf(event, format, refusals)
        if (line === undefined) continue
        const value = Buffer.from(line)
        const bytes = value.length + envelopeBytes
        if (pieces.length === batch.maxEvents || (pieces.length > 0 && size + bytes > batch.maxBytes)) {
          yield pieces
          ;[pieces, size] = [[], 0]
        }
        pieces.push({ event, message: { ...to, value, ...envelopeOf(event, startOf(day)) } })
        size += bytes
      }
      if (pieces.length > 0) yield pieces
    }

    try {
      for (const pieces of batches()) await send(pieces, await link.open(signal))
    } catch (error) {
      if (!isFailure(error) || taken.length + refusals.length === 0) throw error
      failure = error
    }
    const refused = refusals.filter(({ reason }) => reason === 'refused')
    // As long as the sink has taken nothing, the error may be its own. One by size needs no proof.
    if (refused.length > 0 && taken.length === 0 && !refusalsStand && (await hasTaken?.()) !== true) {
      const why = `${what} has taken no event yet, and ${refused[0]!.answer}; check the settings of the topic`
      throw failure ?? new Failure('retry', 'rejected', why)
    }
    return { refusals, committed: [], bytes, ...(failure !== undefined && { partial: { taken, failure } }) }
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
    async check(signal) {
      const tried = await connect(settings, what, clock, signal)
      try {
        const found = tried.found
        if (topic.includes('{zone}')) return { found, untested: 'the topics of the zones' }
        const rights = await tried.look(topic, signal)
        return { found, ...(rights !== 'may write' && { untested: 'the right to write to the topic' }) }
      } finally {
        tried.close()
      }
    },
    close: async () => link.close(),
  }
}

/** The same for every try: an event without time gets the first instant of its day. */
function envelopeOf({ fingerprint, timeMs }: Event, dayMs: number): Pick<Message, 'headers' | 'timestamp'> {
  const id = Buffer.from(fingerprint.toString(16).padStart(16, '0'))
  return { headers: new Map([[idHeader, id]]), timestamp: BigInt(Math.floor(timeMs ?? dayMs)) }
}
