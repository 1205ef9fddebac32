import { onTestFinished } from 'vitest'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { cancelled } from '../../src/domain/failure.ts'
import { Secret } from '../../src/domain/text/secret.ts'
import type { Clock } from '../../src/ports/process.ts'
import { createGate } from '../../src/shield/client/account-gate.ts'
import { ShieldClient, type ShieldClientOptions } from '../../src/shield/client/client.ts'
import { PageBudget } from '../../src/shield/client/page-budget.ts'
import { createFakeClock, type FakeClock } from '../fakes/fake-clock.ts'
import { serveHttp } from '../setup/http-server.ts'
import { keepInternalEvents } from '../sinks/internal-events.ts'

const requestTimeoutMs = 4_987

export type Reply = (response: ServerResponse, request: IncomingMessage) => void

export type ShieldApi = Awaited<ReturnType<typeof startShieldApi>>

/** A client, and a server whose every answer the test names. Waits between tries take no time. */
export async function startShieldApi(changes: Partial<ShieldClientOptions> = {}) {
  const requests: IncomingMessage[] = []
  let replies: Reply[] = []
  const server = await serveHttp((request, response) => {
    requests.push(request)
    const reply = replies.length > 1 ? replies.shift() : replies[0]
    reply?.(response, request)
  })
  const clock = createFakeClock(Date.now(), true)
  const { telemetry, internalEvents } = keepInternalEvents()
  const budget = changes.budget ?? new PageBudget(64_000_000)
  const client = new ShieldClient({
    baseUrl: server.url,
    accessKey: new Secret('k-hunter2'),
    account: 'main',
    firstPage: 'omit',
    requestTimeoutMs,
    maxPageBytes: 1_000_000,
    gate: createGate({ account: 'main', maxRequestsPerSecond: null }, clock),
    budget,
    clock: withoutTimeLimit(clock, requestTimeoutMs),
    telemetry,
    version: '1.2.3',
    connections: 4,
    random: () => 0.5,
    ...changes,
  })
  return {
    server,
    client,
    budget,
    clock,
    internalEvents,
    requests,
    /** Answers the next requests; the last one stays for all that follow. */
    reply: (...given: readonly Reply[]) => void (replies = [...given]),
    async close(): Promise<void> {
      await client.close()
      await server.close()
    },
  }
}

export const never = new AbortController().signal

/** The same, ended with the test. */
export async function startedApi(changes: Partial<ShieldClientOptions> = {}): Promise<ShieldApi> {
  const api = await startShieldApi(changes)
  onTestFinished(() => api.close())
  return api
}

/** The same with an API that answers so. */
export async function answering(...replies: readonly Reply[]): Promise<ShieldApi> {
  const api = await startedApi()
  api.reply(...replies)
  return api
}

/** Only waits between tries move the clock; the time limit of a request, which waits for a real answer, never does. */
function withoutTimeLimit(clock: FakeClock, timeLimitMs: number): Clock {
  return {
    ...clock,
    sleep: (ms, signal) => (ms === timeLimitMs ? untilAborted(signal) : clock.sleep(ms, signal)),
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(cancelled(signal.reason)), { once: true })
  })
}

/** An answer of that status, with JSON or text as its body. */
export function answer(status: number, body: unknown = '', headers: Record<string, string> = {}): Reply {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body))
  }
}

export const emptyPage = { logs: [], hasMoreData: false, continuationToken: '' }
