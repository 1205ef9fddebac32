import { onTestFinished } from 'vitest'
import type { ServerResponse } from 'node:http'
import { systemClock } from '../../src/clock.ts'
import type { Event } from '../../src/domain/event/event.ts'
import type { Day } from '../../src/domain/day.ts'
import { takenOf } from '../../src/domain/event/delivery.ts'
import { type Failure, isFailure } from '../../src/domain/failure.ts'
import { Secret } from '../../src/domain/text/secret.ts'
import { formats } from '../../src/formats/registry.ts'
import type { Sink } from '../../src/ports/delivery.ts'
import { HttpSinkConfig } from '../../src/sinks/http/config.ts'
import { createHttpSink } from '../../src/sinks/http/sink.ts'
import { buildEvents } from '../formats/events.ts'
import { answerWith, serve, type Got, type Reply, type Respond } from '../sinks/http/destination-server.ts'
import { keepInternalEvents, named } from '../sinks/internal-events.ts'

/** How a scripted destination speaks the protocol of a preset. */
export interface Dialect {
  /** Settings of a sink that ships to this address with this secret. */
  settings(url: string, secret: Secret): object
  /** Ids of the events in a request; undefined for a request of another kind. */
  idsOf(got: Got): string[] | undefined
  /** The secret that a request was sent with, as text that contains it. */
  secretOf(got: Got): string | undefined
  /** The acknowledgement of these events. */
  taken(ids: readonly string[]): Reply
  /** The answer where some events are bad, and what of the request the destination has stored then. */
  refused(ids: readonly string[], bad: readonly string[]): { reply: Reply; stored: readonly string[] }
  /** An acknowledgement that names or counts fewer events than were sent. */
  fewer?(ids: readonly string[]): { reply: Reply; stored: readonly string[]; lost: number }
  /** The same acknowledgement with its items in another order. */
  shuffled?(ids: readonly string[]): Reply
  unauthorised: Reply
  /** A success that refuses the credentials for each of these events. */
  unauthorisedEach?(ids: readonly string[]): Reply
  /** A success that tells the same error of the destination for each of these events. */
  brokenEach?(ids: readonly string[]): Reply
  /** Answers requests of another kind, such as those for tokens. */
  other?(got: Got): Reply
}

const never = new AbortController().signal
/** Shortly after the time of the events. */
export const nowMs = 1_763_633_480_000

/** What the destination does with one request of events; undefined: it takes them. */
export type Script = (ids: readonly string[], index: number, got: Got) => Step | undefined
export interface Step {
  readonly reply: Reply | 'cut off'
  readonly stored?: readonly string[]
}

export interface ShipResult {
  /** Every id that was stored, as often as it was. */
  readonly stored: string[]
  readonly refused: string[]
  readonly lost: number
  /** Ids that were sent after their acknowledgement. */
  readonly resent: string[]
  readonly requests: number
  readonly failures: string[]
  /** Their kinds. */
  readonly kinds: string[]
}

const all = buildEvents(40)
export const ids = all.map(({ id }) => id)

export interface Shipment {
  readonly script: Script
  readonly secret?: Secret
  /** In place of the 40. */
  readonly events?: readonly Event[]
  /** A success that tells the same error of the destination for each of these events. */
  brokenEach?(ids: readonly string[]): Reply
  /** Answers requests of another kind, in place of the dialect. */
  readonly other?: (got: Got) => Reply
  /** Deliveries at most. */
  readonly rounds?: number
}

/** Ships 40 events through a sink with the preset, as often as a pump would, to a destination with this script. */
export async function ship(
  preset: string,
  dialect: Dialect,
  { script, secret = new Secret('s3cr3t-of-now'), events = all, other, rounds = 6 }: Shipment,
): Promise<ShipResult> {
  const stored: string[] = []
  const acknowledged = new Set<string>()
  const resent: string[] = []
  let requests = 0
  const respond: Respond = (got, response) => {
    const some = dialect.idsOf(got)
    if (some === undefined)
      return answerWith(response, other?.(got) ?? dialect.other?.(got) ?? { status: 404 })
    resent.push(...some.filter((id) => acknowledged.has(id)))
    const { reply, stored: kept = [] } = script(some, requests++, got) ?? {
      reply: dialect.taken(some),
      stored: some,
    }
    stored.push(...kept)
    if (reply === 'cut off') return cutOff(response)
    if (reply.status < 300) for (const id of kept) acknowledged.add(id)
    return answerWith(response, reply)
  }
  const server = await serve(respond)
  const { telemetry, internalEvents } = keepInternalEvents()
  const fixed = { type: 'http', preset, batch: { maxEvents: 10 } }
  const settings = HttpSinkConfig.parse({ ...fixed, ...dialect.settings(server.url, secret) })
  const clock = { ...systemClock, now: () => nowMs }
  const format = formats[settings.format]()
  const sink = createHttpSink(settings, { format, clock, telemetry, version: '1', random: () => 0 })
  onTestFinished(() => sink.close())
  const pumped = await pump(sink, events, rounds)
  const lost = named(internalEvents, 'EventsLost').reduce((sum, { count }) => sum + count, 0)
  return { ...pumped, stored, resent, lost, requests }
}

/** Delivers what is neither taken nor refused, a few times. */
async function pump(
  sink: Sink,
  given: readonly Event[],
  rounds: number,
): Promise<Pick<ShipResult, 'refused' | 'failures' | 'kinds'>> {
  const refused: string[] = []
  const failed: Failure[] = []
  const settled = new Set<Event>()
  for (let round = 0; round < rounds && settled.size < given.length; round++) {
    const open = await sink.open({ zone: 101, day: '2025-11-20' as Day, sink: sink.name }, {}, never)
    const events = given.filter((event) => !settled.has(event))
    try {
      const delivery = await open.deliver(events, never)
      for (const event of takenOf(events, delivery)) settled.add(event)
      for (const { event } of delivery.refusals) settled.add(event)
      refused.push(...delivery.refusals.map(({ event }) => event.id))
      if (delivery.partial?.failure !== undefined) failed.push(delivery.partial.failure)
    } catch (error) {
      if (!isFailure(error)) throw error
      failed.push(error)
    }
  }
  return { refused, failures: failed.map(({ code }) => code), kinds: failed.map(({ kind }) => kind) }
}

/** A success of which only the beginning arrives. */
function cutOff(response: ServerResponse): void {
  const type = { 'content-type': 'application/json', 'content-length': '100' }
  response.writeHead(200, type)
  response.write('{"', () => response.socket!.destroy())
}
