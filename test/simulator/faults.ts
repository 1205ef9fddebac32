import { Readable, type Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import * as zlib from 'node:zlib'
import {
  flushed,
  httpDate,
  jsonAnswer,
  sendWhole,
  textAnswer,
  tooMany,
  writeHead,
  type Send,
} from '../../src/simulator/answer.ts'
import type { Fault, FaultContext } from '../../src/simulator/faults.ts'
import type { Route } from '../../src/simulator/route.ts'
import type { WireEntry } from '../../src/simulator/simulator.ts'

// Every fault of the service that tests need: those of the simulator itself, and damage of which only tests speak.
export * from '../../src/simulator/faults.ts'

type Encoding = 'gzip' | 'br' | 'zstd' | 'deflate'

export function redirect({ status = 302, location = '/elsewhere' } = {}): Fault {
  return { kind: 'redirect', answer: () => ({ ...textAnswer(status), headers: { location } }) }
}

/** 202 with the framework's AcceptedResult, as the rate-limit update may answer. */
export function acceptedResult(): Fault {
  const lists = { formatters: [], contentTypes: [] }
  const result = { location: null, value: null, ...lists, declaredType: null, statusCode: 202 }
  return { kind: 'acceptedResult', answer: () => jsonAnswer(202, result) }
}

interface Throttle {
  readonly status?: number
  /** Seconds, any text, or a date so many ms ahead; default: no header. */
  readonly retryAfter?: number | string | { readonly inMs: number }
}

export function throttle({ status = 429, retryAfter }: Throttle = {}): Fault {
  const answer = ({ route, nowMs }: FaultContext) => {
    if (retryAfter === undefined) return tooMany(route, undefined, status)
    const value = typeof retryAfter === 'object' ? httpDate(nowMs + retryAfter.inMs) : String(retryAfter)
    return tooMany(route, value, status)
  }
  return { kind: 'throttle', answer }
}

/** The `Date` header: shifted, or left out. */
export function date({ offsetMs }: { readonly offsetMs: number | null }): Fault {
  const dateAt = (nowMs: number) => (offsetMs === null ? null : httpDate(nowMs + offsetMs))
  return { kind: 'date', answer: ({ regular, nowMs }) => ({ ...regular(), date: dateAt(nowMs) }) }
}

// The same answer, sent badly

function sent(kind: string, send: Send): Fault {
  return { kind, answer: ({ regular }) => ({ ...regular(), send }) }
}

/** The answer in small pieces. */
export function drip({ everyMs, chunkBytes = 64 }: { everyMs: number; chunkBytes?: number }): Fault {
  return sent('drip', async (response, answer, { clock, signal }) => {
    const { body } = answer
    writeHead(response, answer)
    for (let start = 0; start < body.length; start += chunkBytes) {
      await flushed(response, body.subarray(start, start + chunkBytes))
      await clock.sleep(everyMs, signal)
    }
    response.end()
  })
}

export function delay({ ms }: { ms: number }): Fault {
  return sent('delay', async (response, answer, tools) => {
    await tools.clock.sleep(ms, tools.signal)
    await sendWhole(response, answer, tools)
  })
}

/** The connection closes normally, before content-length bytes were sent. */
export function cut({ missingBytes = 10 } = {}): Fault {
  return sent('cut', async (response, answer) => {
    writeHead(response, answer)
    await flushed(response, answer.body.subarray(0, Math.max(0, answer.body.length - missingBytes)))
    response.socket?.end()
  })
}

/** The page with so many bytes of white space inside; `declared` sends its content-length. */
export function oversized({ bytes, declared = false }: { bytes: number; declared?: boolean }): Fault {
  return sent('oversized', async (response, { status, headers, body }, { signal }) => {
    const length = { 'content-length': String(Math.max(bytes, body.length)) }
    response.writeHead(status, declared ? { ...headers, ...length } : headers)
    await pipeline(Readable.from(padded(body, bytes)), response, { signal })
  })
}

/**
 * Encoded whether the request accepts it or not; `label` names another encoding than the body's. With `bytes` a small body
 * decodes to so many.
 */
export function encode({ encoding, label = encoding, bytes = 0 }: Encoded): Fault {
  return sent('encode', async (response, { status, headers, body }, { signal }) => {
    response.writeHead(status, { ...headers, 'content-encoding': label })
    await pipeline(Readable.from(padded(body, bytes)), encoders[encoding](), response, { signal })
  })
}

type Encoded = { readonly encoding: Encoding; readonly label?: string; readonly bytes?: number }

const encoders: Record<Encoding, () => Transform> = {
  gzip: () => zlib.createGzip({ level: 1 }),
  deflate: () => zlib.createDeflate({ level: 1 }),
  br: () => zlib.createBrotliCompress({ params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } }),
  zstd: () => zlib.createZstdCompress(),
}

/** White space before the last bracket: still JSON, and only one piece of it is in memory. */
function* padded(body: Buffer, bytes: number): Generator<Buffer> {
  const piece = Buffer.alloc(65_536, ' ')
  yield body.subarray(0, -1)
  for (let left = bytes - body.length; left > 0; left -= piece.length)
    yield left < piece.length ? piece.subarray(0, left) : piece
  yield body.subarray(-1)
}

// Changes of a successful answer

/** A page of event logs, of zones or of volumes. */
interface Body {
  readonly [field: string]: unknown
  readonly logs: readonly WireEntry[]
  readonly data: readonly { readonly shieldZoneId: number }[]
}

/** Changes a successful answer of one operation; other requests do not use it up. */
function edited(
  kind: string,
  change: (body: Body, context: FaultContext) => object,
  operation: Route['operation'] = 'eventLogs',
): Fault {
  return {
    kind,
    answer: (context) => {
      if (context.route.operation !== operation) return undefined
      const answer = context.regular()
      if (answer.status !== 200 || answer.body === undefined) return answer
      return jsonAnswer(200, change(JSON.parse(answer.body.toString('utf8')) as Body, context))
    },
  }
}

/** A page of volumes whose cursor is the one that asked for it. */
export function repeatCursor(): Fault {
  const cursorOf = (list: Body, { query }: Route) => query.get('nextCursor') ?? list['cursor']
  return edited('repeatCursor', (list, { route }) => ({ ...list, cursor: cursorOf(list, route) }), 'volumes')
}

/** The list of zones leaves these out, although their event logs are answered. */
export function unlisted(...zones: readonly number[]): Fault {
  const rest = ({ data }: Body) => data.filter(({ shieldZoneId }) => !zones.includes(shieldZoneId))
  return edited('unlisted', (list) => ({ ...list, data: rest(list) }), 'shieldZones')
}

/** Replaces fields of the page; default: every field by one of a wrong type. */
export function wrongTypes({ fields }: { readonly fields?: Readonly<Record<string, unknown>> } = {}): Fault {
  const wrong = { hasMoreData: 'yes', continuationToken: 42, startToken: [], errorResponse: 'none' }
  const all = (page: Body) => ({ ...wrong, logs: { first: page.logs[0] ?? null } })
  return edited('wrongTypes', (page) => ({ ...page, ...(fields ?? all(page)) }))
}

let copies = 0

/** Another text for the page's own token: after its first `=` a decoder reads no more. */
function tokenAgain(page: Body): string {
  return `${String(page['startToken'])}=${++copies}`
}

export function emptyPageWithMore(): Fault {
  const more = (page: Body) => ({ ...page, logs: [], hasMoreData: true, continuationToken: tokenAgain(page) })
  return edited('emptyPageWithMore', more)
}

export function repeatToken(): Fault {
  return edited('repeatToken', (page, { route }) => ({
    ...page,
    hasMoreData: true,
    continuationToken: (route.token ?? '') === '' ? tokenAgain(page) : route.token,
  }))
}

/** After so many pages the tokens repeat without end. */
export function cycleTokens({ length = 3 } = {}): Fault {
  const streams = new Map<string, { readonly tokens: string[]; served: number }>()
  return edited('cycleTokens', (page, { route }) => {
    const stream = streams.get(streamOf(route)) ?? { tokens: [], served: 0 }
    streams.set(streamOf(route), stream)
    const { continuationToken: next } = page
    if (stream.tokens.length < length)
      stream.tokens.push(page['hasMoreData'] === true && typeof next === 'string' ? next : tokenAgain(page))
    return { ...page, hasMoreData: true, continuationToken: stream.tokens[stream.served++ % length] }
  })
}

export function moreWithoutToken(): Fault {
  return edited('moreWithoutToken', (page) => ({ ...page, hasMoreData: true, continuationToken: null }))
}

/** The page ends with its own first entries and begins with the last ones of the page before. */
export function repeatedEntries({ count = 3 } = {}): Fault {
  const before = new Map<string, readonly unknown[]>()
  return edited('repeatedEntries', (page, { route }) => {
    const last = before.get(streamOf(route)) ?? []
    before.set(streamOf(route), page.logs.slice(-count))
    return { ...page, logs: [...last, ...page.logs, ...page.logs.slice(0, count)] }
  })
}

/** Parsers differ here: most take the last value. */
export function duplicateKeys(): Fault {
  return {
    kind: 'duplicateKeys',
    answer: ({ route, regular }) => {
      const answer = regular()
      if (route.operation !== 'eventLogs' || answer.status !== 200) return answer
      const first = '{"logs":[],"hasMoreData":false,"continuationToken":"x","errorResponse":null,'
      return { ...answer, body: Buffer.concat([Buffer.from(first), answer.body.subarray(1)]) }
    },
  }
}

function streamOf({ zone, day }: Route): string {
  return `${zone}/${day}`
}
