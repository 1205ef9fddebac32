import type { IncomingMessage, ServerResponse } from 'node:http'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { systemClock } from '../../../src/clock.ts'
import type { Day } from '../../../src/domain/day.ts'
import type { Event } from '../../../src/domain/event/event.ts'
import type { Failure } from '../../../src/domain/failure.ts'
import { Secret } from '../../../src/domain/text/secret.ts'
import { createNativeFormat } from '../../../src/formats/native.ts'
import type { OpenStream, Sink } from '../../../src/ports/delivery.ts'
import type { HttpSinkConfig } from '../../../src/sinks/http/config.ts'
import type { HttpSinkDeps } from '../../../src/sinks/http/requests.ts'
import { createHttpSink } from '../../../src/sinks/http/sink.ts'
import { serveHttp, serveTls, type TestServer } from '../../setup/http-server.ts'
import { own } from '../../setup/leftovers.ts'
import { keepInternalEvents } from '../internal-events.ts'

export const never = new AbortController().signal
export const format = createNativeFormat()

/** One request as the destination got it. */
export interface Got {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  /** As it came over the wire. */
  readonly body: Buffer
  /** Uncompressed. */
  readonly plain: Buffer
  /** The same as text. */
  readonly text: string
  /** Ids of its events, in order; of native lines only. */
  readonly ids: readonly string[]
}

export type Respond = (got: Got, response: ServerResponse, index: number) => unknown

export interface DestinationServer extends TestServer {
  readonly got: Got[]
  /** Ids of the events of all requests that were answered with 2xx. */
  taken(): string[]
}

/** A real server that reads each request whole, keeps it and then answers; closed after the test. */
export async function serve(respond: Respond, tls = false): Promise<DestinationServer> {
  const got: Got[] = []
  const taken: string[] = []
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const one = await read(request)
    if (one === undefined) return
    got.push(one)
    response.on('finish', () => {
      if (response.statusCode >= 200 && response.statusCode < 300) taken.push(...one.ids)
    })
    respond(one, response, got.length - 1)
  }
  return { ...(await (tls ? serveTls : serveHttp)(answer)), got, taken: () => taken }
}

async function read(request: IncomingMessage): Promise<Got | undefined> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  } catch {
    return undefined
  }
  const body = Buffer.concat(chunks)
  const plain = unpack(body, request.headers['content-encoding'])
  const text = plain.toString()
  const { method = '', url: path = '', headers } = request
  return { method, path, headers, body, plain, text, ids: idsOf(text) }
}

export function unpack(body: Buffer, encoding: string | undefined): Buffer {
  if (encoding === 'gzip') return gunzipSync(body)
  return encoding === 'zstd' ? zstdDecompressSync(body) : body
}

export function idsOf(text: string): string[] {
  const lines = text.startsWith('[')
    ? (JSON.parse(text) as unknown[]).map((one) => JSON.stringify(one))
    : text.split('\n')
  // Rows of Sentinel have it under a name of their own.
  return lines.flatMap((line) => /"EventId":"([^"]+)"/.exec(line)?.[1] ?? format.identify(line)?.id ?? [])
}

export interface Reply {
  readonly status: number
  /** Bytes as they are. */
  readonly body?: string | object
  readonly headers?: Record<string, string>
}

export function answerWith(response: ServerResponse, { status, body = '', headers = {} }: Reply): unknown {
  const isText = typeof body === 'string' || Buffer.isBuffer(body)
  const type = { 'content-type': isText ? 'text/plain' : 'application/json' }
  return response.writeHead(status, { ...type, ...headers }).end(isText ? body : JSON.stringify(body))
}

export function reply(status: number, body = '', headers: Record<string, string> = {}): Respond {
  return (_got, response) => response.writeHead(status, headers).end(body)
}

/** One answer after the other; the last one for all further requests. */
export function inTurn(...responds: readonly Respond[]): Respond {
  return (got, response, index) => responds[Math.min(index, responds.length - 1)]!(got, response, index)
}

/** Settings that tests change; a header may be given as plain text. */
export interface SinkOptions extends Partial<Omit<HttpSinkConfig, 'headers'>> {
  readonly headers?: Readonly<Record<string, Secret | string>>
  /** Those of the preset. */
  readonly [own: string]: unknown
}

/** The settings of a sink that ships to this address. */
export function settingsOf(url: string, { headers = {}, ...options }: SinkOptions = {}): HttpSinkConfig {
  const secret = (value: Secret | string) => (typeof value === 'string' ? new Secret(value) : value)
  const secrets = Object.entries(headers).map(([name, value]) => [name, secret(value)])
  return { ...defaults, url, ...options, headers: Object.fromEntries(secrets) }
}

const defaults = {
  type: 'http',
  name: 'siem',
  preset: 'ndjson',
  format: 'native',
  compression: 'none',
  timeoutSeconds: 5,
  batch: { maxEvents: 1000, maxBytes: 1_000_000 },
  tls: {},
} as const

/** A sink that is closed after the test. */
export function ship(url: string, options: SinkOptions = {}, deps: Partial<HttpSinkDeps> = {}) {
  const { telemetry, internalEvents } = keepInternalEvents()
  const sink = createHttpSink(
    settingsOf(url, options),
    // No jitter: the first wait of each back-off is over at once.
    { format, clock: systemClock, telemetry, version: '1.2.3', random: () => 0, ...deps },
  )
  own({ what: 'a sink', isLeft: () => true, remove: () => sink.close(), isFault: false })
  return { sink, internalEvents }
}

export function openStream(sink: Sink, zone = 101, hasTaken = false): Promise<OpenStream> {
  const stream = { zone, day: '2026-11-20' as Day, sink: sink.name }
  return sink.open(stream, { hasTaken: () => Promise.resolve(hasTaken) }, never)
}

export async function deliver(sink: Sink, events: readonly Event[], signal: AbortSignal = never) {
  return await (await openStream(sink)).deliver(events, signal)
}

/** What the work failed with. */
export async function failureOf(work: Promise<unknown>): Promise<Failure> {
  return await work.then(
    () => {
      throw new Error('it did not fail')
    },
    (error: unknown) => error as Failure,
  )
}
