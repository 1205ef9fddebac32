import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Day } from '../domain/day.ts'
import { httpDate, jsonAnswer, problem, sendWhole, type Answer } from './answer.ts'
import { EventLogs, failedPage } from './api/event-logs.ts'
import { failedUpdate, negotiated, RateLimits } from './api/rate-limit.ts'
import { failedZoneList, shieldZonesAnswer } from './api/shield-zones.ts'
import { failedMetrics, uploadScanningAnswer } from './api/upload-scanning.ts'
import { volumesAnswer } from './api/volumes.ts'
import { hex4, mix } from './entries/hash.ts'
import { createTraffic, type Traffic } from './entries/traffic.ts'
import { FaultRules } from './faults.ts'
import { settingsOf, type Settings, type SimulatorOptions } from './options.ts'
import { routeOf, type Operation, type Route } from './route.ts'

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
  /** The kind of the fault that it got. */
  readonly fault?: string
}

type Recorded = { -readonly [Key in keyof SimulatorRequest]: SimulatorRequest[Key] }

const maxRequestsKept = 50_000
const maxBodyBytes = 1_048_576

/** Answers the requests of a simulator, and records them. */
export class Responder {
  readonly #requests: Recorded[] = []
  #given: SimulatorOptions
  #settings: Settings
  #requestNumber = 0
  readonly traffic: Traffic
  readonly eventLogs: EventLogs
  readonly rateLimits: RateLimits
  readonly faults = new FaultRules()

  /** Throws RangeError when an option is out of range. */
  constructor(options: SimulatorOptions) {
    this.#given = options
    this.#settings = settingsOf(options)
    this.traffic = createTraffic(() => this.#settings)
    this.eventLogs = new EventLogs(() => this.#settings, this.traffic)
    this.rateLimits = new RateLimits(this.#settings.zones)
  }

  get settings(): Settings {
    return this.#settings
  }

  get requests(): readonly SimulatorRequest[] {
    return this.#requests
  }

  set(changes: Partial<SimulatorOptions>): void {
    for (const name of ['port', 'seed', 'days', 'entryBytes'] as const) {
      if (changes[name] !== undefined)
        throw new RangeError(`simulator option ${name} cannot change while the simulator runs`)
    }
    this.#given = { ...this.#given, ...changes }
    this.#settings = settingsOf(this.#given)
    this.traffic.adjust()
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
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
    const body = await bodyOf(request)
    const recorded = this.#record(route, request, body)
    const { clock, latencyMs, firstPage } = this.#settings
    if (latencyMs > 0) await clock.sleep(latencyMs, signal)
    const regular = () => this.#regular(route, request.headers, body)
    const faulty = this.faults.answer(
      {
        route,
        nowMs: clock.now(),
        regular,
        tokenAgain: () => this.eventLogs.tokenAgain(route),
        failed: (status, errorKey, message) => failed[route.operation](status, errorKey, message, route),
      },
      firstPage,
    )
    if (faulty !== undefined) recorded.fault = faulty.kind
    const answer = this.#labelled(faulty?.answer ?? regular())
    recorded.status = answer.status
    await (answer.send ?? sendWhole)(response, answer, { clock, signal })
  }

  #record(route: Route, request: IncomingMessage, body: Buffer): Recorded {
    const { operation, method, path, zone, day, segment } = route
    const entry: Recorded = {
      operation,
      method,
      path,
      headers: request.headers,
      body: body.toString('utf8'),
      at: this.#settings.clock.now(),
      status: 0,
    }
    if (zone !== undefined) entry.zone = zone
    if (day !== undefined) entry.day = day
    if (segment !== undefined) entry.token = segment
    this.#requests.push(entry)
    if (this.#requests.length > maxRequestsKept) this.#requests.splice(0, maxRequestsKept / 5)
    return entry
  }

  #labelled(answer: Answer): Answer {
    const id = mix(++this.#requestNumber)
    const requestId = `${hex4(id >>> 16)}${hex4(id)}`.padStart(32, '0')
    const { date = httpDate(this.#settings.clock.now()) } = answer
    return {
      ...answer,
      headers: { ...answer.headers, 'cdn-requestid': requestId, ...(date !== null && { date }) },
    }
  }

  /** The answer without any fault. */
  #regular(route: Route, headers: IncomingHttpHeaders, body: Buffer): Answer {
    const { accept = '', 'content-type': contentType = '' } = headers
    if (body.length > maxBodyBytes)
      return problem(413, `The body is larger than ${maxBodyBytes} bytes.`, route)
    if (route.allowed === '') return problem(404, 'There is nothing at this path.', route)
    if (route.method !== route.allowed) {
      const refusal = problem(405, `The path takes ${route.allowed} only.`, route)
      return { ...refusal, headers: { ...refusal.headers, allow: route.allowed } }
    }
    if (!this.#isAuthorised(route, headers['accesskey'])) return unauthorised(route, accept)
    switch (route.operation) {
      case 'eventLogs':
        return this.eventLogs.answer(route)
      case 'updateRateLimit':
        return this.rateLimits.answer(route, { contentType, accept, body })
      case 'uploadScanning':
        return uploadScanningAnswer(route, this.#settings)
      case 'volumes':
        return volumesAnswer(route, this.#settings)
      case 'shieldZones':
        return shieldZonesAnswer(route, this.#settings)
      default:
        return problem(400, route.malformed ?? '', route)
    }
  }

  #isAuthorised({ operation }: Route, key: string | string[] | undefined): boolean {
    const { accessKey } = this.#settings
    if (accessKey !== null) return key === accessKey
    return operation !== 'volumes' || (typeof key === 'string' && key !== '')
  }
}

function unauthorised(route: Route, accept: string): Answer {
  if (route.operation === 'updateRateLimit') return negotiated(401, { statusCode: 401 }, accept)
  if (route.operation === 'uploadScanning') return jsonAnswer(401, { statusCode: 401 })
  return problem(401, 'The access key is missing or not valid.', route)
}

type Envelope = (status: number, errorKey: string, message: string, route: Route) => Answer

/** An error in the operation's own envelope. */
const failed: Readonly<Record<Operation, Envelope>> = {
  eventLogs: failedPage,
  updateRateLimit: (status, errorKey, message) => failedUpdate(status, errorKey, message),
  uploadScanning: failedMetrics,
  volumes: (status, errorKey, message, route) => problem(status, `${errorKey}: ${message}`, route),
  shieldZones: failedZoneList,
  unknown: (status, errorKey, message, route) => problem(status, `${errorKey}: ${message}`, route),
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
