import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Day } from '../domain/day.ts'
import { problem, type Answer } from './answer.ts'
import { hex4, mix } from './entries/hash.ts'
import { createTraffic, type Traffic } from './entries/traffic.ts'
import type { FaultKind } from './faults/fault.ts'
import { createFaultQueue, type TakenFault } from './faults/fault-queue.ts'
import { faultyAnswer, httpDate } from './faults/faults.ts'
import { createOperations, type Operations } from './operations.ts'
import { settingsOf, type Settings, type SimulatorOptions } from './options.ts'
import { routeOf, type Operation, type Route } from './route.ts'
import { accepts, encoded, sendWhole } from './sending.ts'

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
  readonly operations: Operations
  readonly faults = createFaultQueue()

  /** Throws RangeError when an option is out of range. */
  constructor(options: SimulatorOptions) {
    this.#given = options
    this.#settings = settingsOf(options)
    this.traffic = createTraffic(() => this.#settings)
    this.operations = createOperations(() => this.#settings, this.traffic)
  }

  get settings(): Settings {
    return this.#settings
  }

  get requests(): readonly SimulatorRequest[] {
    return this.#requests
  }

  set(changes: Partial<SimulatorOptions>): void {
    for (const name of ['port', 'clock', 'seed', 'days'] as const) {
      if (changes[name] !== undefined)
        throw new RangeError(`simulator option ${name} cannot change while the simulator runs`)
    }
    const { clock } = this.#settings
    this.#given = { ...this.#given, ...changes, clock, entry: { ...this.#given.entry, ...changes.entry } }
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
    const { clock, latencyMs } = this.#settings
    if (latencyMs > 0) await clock.sleep(latencyMs, signal)
    const taken = this.faults.take(route, this.#settings.firstPage)
    const plain = this.#answerTo(route, request, body, taken)
    recorded.status = plain.status
    if (taken !== undefined) recorded.fault = taken.fault.kind
    const answer = compressed(plain, this.#settings.compress, request.headers['accept-encoding'] ?? '')
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

  #answerTo(route: Route, request: IncomingMessage, body: Buffer, taken: TakenFault | undefined): Answer {
    const { clock, clockSkewMs } = this.#settings
    const nowMs = clock.now() + clockSkewMs
    const regular = (): Answer =>
      body.length > maxBodyBytes
        ? problem(413, `The body is larger than ${maxBodyBytes} bytes.`, route)
        : this.operations.answer({ route, headers: request.headers, body })
    const tokenAgain = (): string => this.operations.eventLogs.tokenAgain(route)
    const answer =
      taken === undefined
        ? regular()
        : faultyAnswer({ route, nowMs, memory: taken.memory, regular, tokenAgain }, taken.fault)
    const id = mix(++this.#requestNumber)
    const requestId = `${hex4(id >>> 16)}${hex4(id)}`.padStart(32, '0')
    const date = answer.date === undefined ? httpDate(nowMs) : answer.date
    const headers = { ...answer.headers, 'cdn-requestid': requestId }
    return { ...answer, headers: date === null ? headers : { ...headers, date } }
  }
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
