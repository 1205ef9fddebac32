import { createFaultQueue, type TakenFault } from './faults/fault-queue.ts'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { createOperations } from './operations.ts'
import { createTraffic, type AppendOptions } from './entries/traffic.ts'
import { faultyAnswer, httpDate } from './faults/faults.ts'
import { accepts, encoded, sendWhole } from './sending.ts'
import { hex4, mix } from './entries/hash.ts'
import { parseDay, type Day } from '../domain/day.ts'
import { problem, type Answer } from './answer.ts'
import { routeOf, type Operation, type Route } from './route.ts'
import { settingsOf, type SimulatorOptions } from './options.ts'
import { listen } from './listen.ts'
import type { FaultKind, FaultRule } from './faults/fault.ts'
import type { RateLimitRule, VolumeTemplate, WireEntry } from './wire.ts'

export type { Fault, FaultMatch, FaultRule } from './faults/fault.ts'
export type { SimulatorOptions } from './options.ts'
export type { WireEntry } from './wire.ts'

export interface SimulatorRequest {
  readonly operation: Operation
  readonly method: string
  /** As received, without the query. */
  readonly path: string
  readonly zone?: number
  readonly day?: Day
  /** Decoded once; absent where the path has no such segment. */
  readonly token?: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** By the simulator's Clock, ms since the epoch. */
  readonly at: number
  /** 0 while no answer was decided, and where a fault sends none. */
  readonly status: number
  readonly fault?: FaultKind
}

/** A simulation of the API, on 127.0.0.1 by default. */
export interface Simulator {
  readonly url: string
  readonly port: number
  /** Every request in order; of a very long run only the latest ones. */
  readonly requests: readonly SimulatorRequest[]
  /** Adds entries that are visible at once, and returns them. `fill` adds many, and returns none. */
  append(
    zone: number,
    day: string,
    entries: number | readonly WireEntry[],
    options?: AppendOptions,
  ): readonly WireEntry[]
  fill(zone: number, day: string, count: number, options?: AppendOptions): void
  /** All entries of a zone's day in the order of arrival. */
  entries(zone: number, day: string): readonly WireEntry[]
  count(zone: number, day: string): number
  fail(rule: FaultRule): void
  /** Removes all fault rules. */
  heal(): void
  /** Changes options of a running simulator, all but port, clock, seed and days. Existing entries stay as they are. */
  set(options: Partial<SimulatorOptions>): void
  /** Refuses every token issued so far. */
  expireTokens(): void
  rateLimitRule(id: number): RateLimitRule | undefined
  setRateLimitRule(rule: RateLimitRule): void
  /** Null: the app becomes unknown. */
  setVolumes(appId: string, templates: readonly VolumeTemplate[] | null): void
  /** Closes open connections, too. Idempotent. */
  close(): Promise<void>
}

const maxRequestsKept = 50_000
const maxBodyBytes = 1_048_576

/** Rejects when the port is in use or an option is out of range. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  let given = options
  let settings = settingsOf(options)
  const { clock } = settings
  const traffic = createTraffic(() => settings)
  const operations = createOperations(() => settings, traffic)
  const faults = createFaultQueue()
  const requests: { -readonly [Key in keyof SimulatorRequest]: SimulatorRequest[Key] }[] = []
  const open = new Set<Promise<void>>()
  let requestNumber = 0
  let closing: Promise<void> | undefined

  const record = (route: Route, request: IncomingMessage, body: Buffer): (typeof requests)[number] => {
    const { operation, method, path, zone, day, segment } = route
    const entry: (typeof requests)[number] = {
      operation,
      method,
      path,
      headers: request.headers,
      body: body.toString('utf8'),
      at: clock.now(),
      status: 0,
    }
    if (zone !== undefined) entry.zone = zone
    if (day !== undefined) entry.day = day
    if (segment !== undefined) entry.token = segment
    requests.push(entry)
    if (requests.length > maxRequestsKept) requests.splice(0, maxRequestsKept / 5)
    return entry
  }

  const answerTo = (
    route: Route,
    request: IncomingMessage,
    body: Buffer,
    taken: TakenFault | undefined,
  ): Answer => {
    const nowMs = clock.now() + settings.clockSkewMs
    const regular = (): Answer =>
      body.length > maxBodyBytes
        ? problem(413, `The body is larger than ${maxBodyBytes} bytes.`, route)
        : operations.answer({ route, headers: request.headers, body })
    const tokenAgain = (): string => operations.eventLogs.tokenAgain(route)
    const answer =
      taken === undefined
        ? regular()
        : faultyAnswer({ route, nowMs, memory: taken.memory, regular, tokenAgain }, taken.fault)
    const id = mix(++requestNumber)
    const requestId = `${hex4(id >>> 16)}${hex4(id)}`.padStart(32, '0')
    const date = answer.date === undefined ? httpDate(nowMs) : answer.date
    const headers = { ...answer.headers, 'cdn-requestid': requestId }
    return { ...answer, headers: date === null ? headers : { ...headers, date } }
  }

  const handle = async (request: IncomingMessage, response: ServerResponse, signal: AbortSignal) => {
    const route = routeOf(request.method ?? '', request.url ?? '')
    const body = await bodyOf(request)
    const recorded = record(route, request, body)
    if (settings.latencyMs > 0) await clock.sleep(settings.latencyMs, signal)
    const taken = faults.take(route, settings.firstPage)
    const plain = answerTo(route, request, body, taken)
    recorded.status = plain.status
    if (taken !== undefined) recorded.fault = taken.fault.kind
    const answer = compressed(plain, settings.compress, request.headers['accept-encoding'] ?? '')
    await (answer.send ?? sendWhole)(response, answer, { clock, signal })
  }

  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const stop = new AbortController()
    response.sendDate = false
    response.once('close', () => stop.abort())
    try {
      await handle(request, response, stop.signal)
    } catch (error) {
      if (stop.signal.aborted || response.headersSent) {
        response.destroy()
        return
      }
      // An error of the simulator itself must not look like one of the client.
      response.writeHead(500, { 'content-type': 'text/plain' })
      response.end(`the simulator failed: ${error instanceof Error ? (error.stack ?? '') : String(error)}`)
    }
  }

  const server = createServer((request, response) => {
    // Not part of the API: for health checks, which faults and records must not see.
    if (request.url === '/healthz') {
      response.end('{}\n')
      return
    }
    const served = serve(request, response)
    open.add(served)
    void served.finally(() => open.delete(served))
  })
  const { url, port } = await listen(server, settings)

  const listing = (zone: number, day: string) => traffic.listing(zone, checkedDay(day))
  const entriesBetween = (zone: number, day: string, from: number, to: number): readonly WireEntry[] => {
    const { json } = listing(zone, day)
    return Array.from({ length: to - from }, (_, index) => JSON.parse(json(from + index)) as WireEntry)
  }
  const shutDown = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => {
      server.close(() => resolve())
    })
    // Closing a connection aborts what its request waits for.
    server.closeAllConnections()
    await Promise.all([closed, ...open])
  }

  return {
    url,
    port,
    requests,
    append: (zone, day, entries, appendOptions) => {
      const { first, next } = traffic.append(zone, checkedDay(day), entries, appendOptions)
      return entriesBetween(zone, day, first, next)
    },
    fill: (zone, day, count, appendOptions) => {
      traffic.append(zone, checkedDay(day), count, appendOptions)
    },
    entries: (zone, day) => entriesBetween(zone, day, 0, listing(zone, day).count),
    count: (zone, day) => listing(zone, day).count,
    fail: (rule) => faults.add(rule),
    heal: () => faults.clear(),
    set: (changes) => {
      for (const name of ['port', 'clock', 'seed', 'days'] as const) {
        if (changes[name] !== undefined)
          throw new RangeError(`simulator option ${name} cannot change while the simulator runs`)
      }
      given = { ...given, ...changes, clock, entry: { ...given.entry, ...changes.entry } }
      settings = settingsOf(given)
      traffic.adjust()
    },
    expireTokens: () => operations.eventLogs.expireTokens(),
    rateLimitRule: (id) => operations.rateLimits.rule(id),
    setRateLimitRule: (rule) => operations.rateLimits.setRule(rule),
    setVolumes: (appId, templates) => operations.volumes.setTemplates(appId, templates),
    close: () => (closing ??= shutDown()),
  }
}

function checkedDay(text: string): Day {
  const day = parseDay(text)
  if (day === undefined) throw new RangeError(`simulator: day is ${text}; it takes a day written YYYY-MM-DD`)
  return day
}

// One byte above the limit is kept to detect it; the rest is read and dropped, so that the client can finish.
async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    if (size <= maxBodyBytes) chunks.push(chunk)
    size += chunk.length
  }
  return Buffer.concat(chunks)
}

function compressed(answer: Answer, encoding: SimulatorOptions['compress'], acceptEncoding: string): Answer {
  if (encoding === null || encoding === undefined || answer.headers['content-encoding'] !== undefined)
    return answer
  return accepts(acceptEncoding, encoding) ? encoded(answer, encoding) : answer
}
