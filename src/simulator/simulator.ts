import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import type { Day } from '../domain/day.ts'
import { failed, httpDate, jsonAnswer, problem, sendWhole, type Answer } from './answer.ts'
import * as account from './api/account.ts'
import { EventLogs } from './api/event-logs.ts'
import type { WireEntry } from './entries/entry.ts'
import { hex4, mix } from './entries/hash.ts'
import { Traffic, type AppendOptions } from './entries/traffic.ts'
import { FaultRules, type FaultRule } from './faults.ts'
import { defaults, type Settings, type SimulatorOptions } from './options.ts'
import { routeOf, type Operation, type Route } from './route.ts'

export type { WireEntry } from './entries/entry.ts'
export type { Fault, FaultRule } from './faults.ts'
export type { SimulatorOptions } from './options.ts'

/** A request as it was received. */
export interface SimulatorRequest extends Route {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** By the simulator's Clock, ms since the epoch. */
  readonly at: number
  /** 0 while no answer was decided, and where a fault sends none. */
  status: number
  /** The kind of the fault that it got. */
  fault?: string
}

const maxRequestsKept = 50_000

/** A simulation of the API, on 127.0.0.1 by default. Throws where it cannot listen. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const simulator = new Simulator(options)
  await simulator.listen()
  return simulator
}

export class Simulator {
  /** Every request in order; of a very long run only the latest ones. */
  readonly requests: SimulatorRequest[] = []
  readonly #open = new Set<Promise<void>>()
  readonly #server: Server
  readonly #traffic: Traffic
  readonly #eventLogs: EventLogs
  readonly #rules: Map<number, account.Rule>
  readonly #faults = new FaultRules()
  #settings: Settings
  #requestNumber = 0
  #closing: Promise<void> | undefined
  url = ''

  constructor(options: SimulatorOptions) {
    this.#settings = { ...defaults, ...options }
    this.#traffic = new Traffic(() => this.#settings)
    this.#eventLogs = new EventLogs(() => this.#settings, this.#traffic)
    this.#rules = account.rulesOf(this.#settings.zones)
    this.#server = createServer((request, response) => {
      // Not part of the API: for health checks, which faults and records must not see.
      if (request.url === '/healthz') {
        response.end('{}\n')
        return
      }
      const served = this.#serve(request, response)
      this.#open.add(served)
      void served.finally(() => this.#open.delete(served))
    })
  }

  /** A server on every interface gets an address of this host as its URL. */
  async listen(): Promise<void> {
    const { host, port } = this.#settings
    await once(this.#server.listen(port, host), 'listening')
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the server has no port')
    const isEverywhere = ['', '0.0.0.0', '::'].includes(host)
    const name = isEverywhere ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
    this.url = `http://${name}:${address.port}`
  }

  /** Adds entries that are visible at once, and returns them. */
  append(
    zone: number,
    day: string,
    entries: number | readonly WireEntry[],
    options?: AppendOptions,
  ): readonly WireEntry[] {
    const from = this.count(zone, day)
    this.#traffic.append(zone, day as Day, entries, options)
    return this.entries(zone, day, from)
  }

  /** The entries of a zone's day in the order of arrival. */
  entries(zone: number, day: string, from = 0): readonly WireEntry[] {
    const listing = this.#traffic.listing(zone, day as Day)
    const entryAt = (_: unknown, index: number) => JSON.parse(listing.json(from + index)) as WireEntry
    return Array.from({ length: listing.count - from }, entryAt)
  }

  count(zone: number, day: string): number {
    return this.#traffic.listing(zone, day as Day).count
  }

  fail(rule: FaultRule): void {
    this.#faults.add(rule)
  }

  /** Removes all fault rules. */
  heal(): void {
    this.#faults.clear()
  }

  /** Changes options, but for those that make entries. */
  set(changes: Omit<SimulatorOptions, 'port' | 'seed' | 'days' | 'live' | 'entryBytes'>): void {
    this.#settings = { ...this.#settings, ...changes }
  }

  /** Ends the steady traffic. */
  calm(): void {
    this.#traffic.calm()
  }

  /** Refuses every token issued so far. */
  expireTokens(): void {
    this.#eventLogs.expireTokens()
  }

  rateLimitRule(id: number): account.Rule | undefined {
    return this.#rules.get(id)
  }

  /** Closes open connections, too. Idempotent. */
  async close(): Promise<void> {
    this.#closing ??= new Promise((resolve) => this.#server.close(() => resolve()))
    // Closing a connection aborts what its request waits for.
    this.#server.closeAllConnections()
    await Promise.all([this.#closing, ...this.#open])
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const stop = new AbortController()
    response.sendDate = false
    response.once('close', () => stop.abort())
    try {
      await this.#handle(request, response, stop.signal)
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

  async #handle(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
    const route = routeOf(request.method ?? '', request.url ?? '')
    const body = await text(request)
    const { headers } = request
    const { clock, latencyMs } = this.#settings
    const recorded: SimulatorRequest = { ...route, headers, body, at: clock.now(), status: 0 }
    this.requests.push(recorded)
    if (this.requests.length > maxRequestsKept) this.requests.splice(0, maxRequestsKept / 5)
    if (latencyMs > 0) await clock.sleep(latencyMs, signal)
    const regular = () => this.#regular(route, headers, body)
    const faulty = this.#faults.answer({ route, nowMs: clock.now(), regular })
    if (faulty !== undefined) recorded.fault = faulty.kind
    const answer = this.#labelled(faulty?.answer ?? regular())
    recorded.status = answer.status
    await (answer.send ?? sendWhole)(response, answer, { clock, signal })
  }

  /** With what every answer has. */
  #labelled(answer: Answer): Answer {
    const { clock, clockOffsetSeconds, compress, headers: own } = this.#settings
    const id = mix(++this.#requestNumber)
    const requestId = `${hex4(id >>> 16)}${hex4(id)}`.padStart(32, '0')
    const { date = httpDate(clock.now() + clockOffsetSeconds * 1000) } = answer
    const headers = { ...answer.headers, ...own, 'cdn-requestid': requestId, ...(date !== null && { date }) }
    if (!compress || answer.body.length === 0) return { ...answer, headers }
    const packed = { ...headers, 'content-encoding': 'gzip', vary: 'accept-encoding' }
    return { ...answer, headers: packed, body: gzipSync(answer.body) }
  }

  /** The answer without any fault. */
  #regular(route: Route, headers: IncomingHttpHeaders, body: string): Answer {
    const { operation, malformed, zone } = route
    if (operation === undefined) return problem(404, 'There is no such operation.', route)
    const key = headers['accesskey'] ?? ''
    const { accessKey, zones } = this.#settings
    if (accessKey === null ? operation === 'volumes' && key === '' : key !== accessKey) {
      const isBare = operation === 'updateRateLimit' || operation === 'uploadScanning'
      return isBare
        ? jsonAnswer(401, { statusCode: 401 })
        : problem(401, 'The access key is missing or not valid.', route)
    }
    if (malformed !== undefined) return problem(400, malformed, route)
    if (zone !== undefined && !zones.includes(zone))
      return failed(route, 202, 'not_found_or_unauthorised_access.shieldzone', 'Shield zone was not found.')
    const answers: Readonly<Record<Operation, () => Answer>> = {
      eventLogs: () => this.#eventLogs.answer(route),
      updateRateLimit: () => account.updateAnswer(route, body, this.#rules),
      uploadScanning: () => account.uploadScanningAnswer(route, this.#settings),
      volumes: () => account.volumesAnswer(route, this.#settings),
      shieldZones: () => account.shieldZonesAnswer(route, this.#settings),
    }
    return answers[operation]()
  }
}
