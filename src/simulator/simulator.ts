import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import type { Day } from '../domain/day.ts'
import { failed, httpDate, jsonAnswer, problem, sendWhole, type Answer } from './answer.ts'
import * as account from './api/account.ts'
import { createEventLogs } from './api/event-logs.ts'
import type { WireEntry } from './entries/entry.ts'
import { hex4, mix } from './entries/hash.ts'
import { createTraffic, type AppendOptions } from './entries/traffic.ts'
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

export type Simulator = Awaited<ReturnType<typeof startSimulator>>

/** A simulation of the API, on 127.0.0.1 by default. Throws where it cannot listen. */
export async function startSimulator(options: SimulatorOptions = {}) {
  const settings = { ...defaults, ...options }
  const traffic = createTraffic(settings)
  const eventLogs = createEventLogs(settings, traffic)
  const rules = account.rulesOf(settings.zones)
  const faults = new FaultRules()
  /** Every request in order; of a very long run only the latest ones. */
  const requests: SimulatorRequest[] = []
  const open = new Set<Promise<void>>()
  let requestNumber = 0
  let closing: Promise<void> | undefined

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

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
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

  async function handle(
    request: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    const route = routeOf(request.method ?? '', request.url ?? '')
    const body = await text(request)
    const { headers } = request
    const { clock, latencyMs } = settings
    const recorded: SimulatorRequest = { ...route, headers, body, at: clock.now(), status: 0 }
    requests.push(recorded)
    if (requests.length > maxRequestsKept) requests.splice(0, maxRequestsKept / 5)
    if (latencyMs > 0) await clock.sleep(latencyMs, signal)
    const regular = () => regularAnswer(route, headers, body)
    const faulty = faults.answer({ route, nowMs: clock.now(), regular })
    if (faulty !== undefined) recorded.fault = faulty.kind
    const answer = labelled(faulty?.answer ?? regular(), settings, ++requestNumber)
    recorded.status = answer.status
    await (answer.send ?? sendWhole)(response, answer, { clock, signal })
  }

  /** The answer without any fault. */
  function regularAnswer(route: Route, headers: IncomingHttpHeaders, body: string): Answer {
    const { operation } = route
    if (operation === undefined) return problem(404, 'There is no such operation.', route)
    const refused = refusalOf(route, operation, headers['accesskey'], settings)
    if (refused !== undefined) return refused
    const answers: Readonly<Record<Operation, () => Answer>> = {
      eventLogs: () => eventLogs.answer(route),
      updateRateLimit: () => account.updateAnswer(route, body, rules),
      uploadScanning: () => account.uploadScanningAnswer(route, settings),
      volumes: () => account.volumesAnswer(route, settings),
      shieldZones: () => account.shieldZonesAnswer(route, settings),
    }
    return answers[operation]()
  }

  const count = (zone: number, day: string): number => traffic.listing(zone, day as Day).count

  /** The entries of a zone's day in the order of arrival. */
  function entries(zone: number, day: string, from = 0): readonly WireEntry[] {
    const listing = traffic.listing(zone, day as Day)
    const entryAt = (_: unknown, index: number) => JSON.parse(listing.json(from + index)) as WireEntry
    return Array.from({ length: listing.count - from }, entryAt)
  }

  const { host } = settings
  await once(server.listen(settings.port, host), 'listening')
  return {
    url: `http://${hostOf(host)}:${(server.address() as AddressInfo).port}`,
    requests,
    count,
    entries,
    /** Adds entries that are visible at once, and returns them. */
    append(zone: number, day: string, added: number | readonly WireEntry[], options?: AppendOptions) {
      const from = count(zone, day)
      traffic.append(zone, day as Day, added, options)
      return entries(zone, day, from)
    },
    fail: (rule: FaultRule) => faults.add(rule),
    /** Removes all fault rules. */
    heal: () => faults.clear(),
    /** Changes options, but for those that make entries. */
    set: (changes: Omit<SimulatorOptions, 'port' | 'seed' | 'days' | 'live' | 'entryBytes'>) =>
      void Object.assign(settings, changes),
    /** Ends the steady traffic. */
    calm: traffic.calm,
    /** Refuses every token issued so far. */
    expireTokens: eventLogs.expireTokens,
    rateLimitRule: (id: number) => rules.get(id),
    /** Closes open connections, too. Idempotent. */
    async close(): Promise<void> {
      closing ??= new Promise((resolve) => server.close(() => resolve()))
      // Closing a connection aborts what its request waits for.
      server.closeAllConnections()
      await Promise.all([closing, ...open])
    },
  }
}

/** With what every answer has. */
function labelled(answer: Answer, settings: Settings, number: number): Answer {
  const { clock, clockOffsetSeconds, compress } = settings
  const id = mix(number)
  const requestId = `${hex4(id >>> 16)}${hex4(id)}`.padStart(32, '0')
  const { date = httpDate(clock.now() + clockOffsetSeconds * 1000) } = answer
  const headers = { ...answer.headers, 'cdn-requestid': requestId, ...(date !== null && { date }) }
  if (!compress || answer.body.length === 0) return { ...answer, headers }
  const packed = { ...headers, 'content-encoding': 'gzip', vary: 'accept-encoding' }
  return { ...answer, headers: packed, body: gzipSync(answer.body) }
}

/** The answer to a request that is not allowed, not well formed, or for a zone that there is not. */
function refusalOf(
  route: Route,
  operation: Operation,
  given: IncomingHttpHeaders[string],
  settings: Settings,
): Answer | undefined {
  const { malformed, zone } = route
  const key = given ?? ''
  const { accessKey, zones } = settings
  if (accessKey === null ? operation === 'volumes' && key === '' : key !== accessKey) {
    const isBare = operation === 'updateRateLimit' || operation === 'uploadScanning'
    return isBare
      ? jsonAnswer(401, { statusCode: 401 })
      : problem(401, 'The access key is missing or not valid.', route)
  }
  if (malformed !== undefined) return problem(400, malformed, route)
  if (zone !== undefined && !zones.includes(zone))
    return failed(route, 202, 'not_found_or_unauthorised_access.shieldzone', 'Shield zone was not found.')
  return undefined
}

/** A server on every interface gets an address of this host. */
function hostOf(host: string): string {
  if (['', '0.0.0.0', '::'].includes(host)) return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
