import { createServer, type Server } from 'node:http'
import { parseDay, type Day } from '../domain/day.ts'
import type { AppendOptions } from './entries/traffic.ts'
import type { FaultRule } from './faults.ts'
import type { SimulatorOptions } from './options.ts'
import { Responder, type SimulatorRequest } from './responder.ts'
import type { RateLimitRule, WireEntry } from './wire.ts'

export type { Fault, FaultRule } from './faults.ts'
export type { SimulatorOptions } from './options.ts'
export type { SimulatorRequest } from './responder.ts'
export type { WireEntry } from './wire.ts'

/** A simulation of the API, on 127.0.0.1 by default. */
export interface Simulator {
  readonly url: string
  readonly port: number
  /** Every request in order; of a very long run only the latest ones. */
  readonly requests: readonly SimulatorRequest[]
  /** Adds entries that are visible at once, and returns them. */
  append(
    zone: number,
    day: string,
    entries: number | readonly WireEntry[],
    options?: AppendOptions,
  ): readonly WireEntry[]
  /** All entries of a zone's day in the order of arrival. */
  entries(zone: number, day: string): readonly WireEntry[]
  count(zone: number, day: string): number
  fail(rule: FaultRule): void
  /** Removes all fault rules. */
  heal(): void
  /** Changes options of a running simulator, all but port, seed, days and the size of entries. Existing entries stay as they are. */
  set(options: Partial<SimulatorOptions>): void
  /** Refuses every token issued so far. */
  expireTokens(): void
  rateLimitRule(id: number): RateLimitRule | undefined
  /** Closes open connections, too. Idempotent. */
  close(): Promise<void>
}

/** Rejects when the port is in use or an option is out of range. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const responder = new Responder(options)
  const { traffic, eventLogs, rateLimits, faults } = responder
  const open = new Set<Promise<void>>()
  let closing: Promise<void> | undefined

  const server = createServer((request, response) => {
    // Not part of the API: for health checks, which faults and records must not see.
    if (request.url === '/healthz') {
      response.end('{}\n')
      return
    }
    const served = responder.serve(request, response)
    open.add(served)
    void served.finally(() => open.delete(served))
  })
  const { url, port } = await listen(server, responder.settings)

  const listing = (zone: number, day: string) => traffic.listing(zone, checkedDay(day))
  const entriesBetween = (zone: number, day: string, from: number, to: number): readonly WireEntry[] => {
    const found = listing(zone, day)
    return Array.from({ length: to - from }, (_, index) => JSON.parse(found.json(from + index)) as WireEntry)
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
    requests: responder.requests,
    append: (zone, day, entries, appendOptions) => {
      const { first, next } = traffic.append(zone, checkedDay(day), entries, appendOptions)
      return entriesBetween(zone, day, first, next)
    },
    entries: (zone, day) => entriesBetween(zone, day, 0, listing(zone, day).count),
    count: (zone, day) => listing(zone, day).count,
    fail: (rule) => faults.add(rule),
    heal: () => faults.clear(),
    set: (changes) => responder.set(changes),
    expireTokens: () => eventLogs.expireTokens(),
    rateLimitRule: (id) => rateLimits.rule(id),
    close: () => (closing ??= shutDown()),
  }
}

function checkedDay(text: string): Day {
  const day = parseDay(text)
  if (day === undefined) throw new RangeError(`simulator: day is ${text}; it takes a day written YYYY-MM-DD`)
  return day
}

const everywhere: readonly string[] = ['', '0.0.0.0', '::']

/** Starts to listen; resolves with address and port. A server on every interface returns an address of this host. */
async function listen(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<{ readonly url: string; readonly port: number }> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === 'EADDRINUSE'
      const what = isTaken
        ? `port ${port} is in use; choose another, or 0 for a free one`
        : `cannot listen on ${host}: ${error.message}; choose an address of this host, 127.0.0.1 or 0.0.0.0`
      reject(new Error(what, { cause: error }))
    })
    server.listen(port, host, () => resolve())
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  const named = everywhere.includes(host) ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  return { url: `http://${named}:${address.port}`, port: address.port }
}
