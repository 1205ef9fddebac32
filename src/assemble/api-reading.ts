import type { Config } from '../config/schema.ts'
import type { AccountGate, SharedLimits } from '../ports/process.ts'
import { createGate } from '../shield/client/account-gate.ts'
import { ShieldClient } from '../shield/client/client.ts'
import { PageBudget } from '../shield/client/page-budget.ts'
import { createEventLogSource } from '../shield/event-logs.ts'
import { sharePages } from '../shield/shared-pages.ts'
import { createRedactor } from '../shield/redaction/redact.ts'
import type { Runtime } from './runtime.ts'
import { version } from './version.ts'
import { messageOf } from '../domain/failure.ts'
import { explainingZones, listZones } from '../discovery/list-zones.ts'
import type { ReadDeps } from '../days/read-day.ts'

export type ApiReading = ReturnType<typeof createReading>

/** The limits of an account that processes share; undefined where each process has its own. */
export type LimitsOf = (account: string, maxRequestsPerSecond: number | null) => SharedLimits | undefined

/** Of pages that are kept for other sinks; enough for 15 pages of 1,000 entries, or 2,000 small ones. */
const mostKeptBytes = 33_554_432

/** The API clients of all configured accounts. */
export function createReading(config: Config, { clock, telemetry }: Runtime, limitsOf?: LimitsOf) {
  const { api, workers } = config
  const budget = new PageBudget(api.maxBytesInFlight)
  const { maxRequestsPerSecond } = api
  const accounts = new Map(
    config.accounts.map((account) => {
      const own = { account: account.name, maxRequestsPerSecond }
      const gate = createGate(own, clock, limitsOf?.(account.name, maxRequestsPerSecond))
      const client = new ShieldClient({
        baseUrl: api.baseUrl,
        accessKey: account.accessKey,
        account: account.name,
        firstPage: api.firstPage,
        requestTimeoutMs: api.requestTimeoutSeconds * 1000,
        maxPageBytes: api.maxPageBytes,
        tls: api.tls,
        budget,
        clock,
        telemetry,
        version,
        // Each pump has at most one page under way and one ahead.
        connections: (workers.streams + workers.backfillStreams) * 2,
        gate,
      })
      return [account.name, { client, gate }]
    }),
  )
  const redactor = createRedactor(config.redact)
  const clientOf = (account: string) => accounts.get(account)!.client
  return {
    source: sharePages(
      { ...createEventLogSource(clientOf, () => redactor), address: api.baseUrl },
      { sinks: config.sinks.length, keptBytes: Math.min(mostKeptBytes, api.maxBytesInFlight / 2), clock },
    ),
    clientOf,
    /** The gate that all requests of an account pass. */
    gateOf: (account: string): AccountGate => accounts.get(account)!.gate,
    [Symbol.asyncDispose]: () => closeTogether(accounts.values().map(({ client }) => client)),
  }
}

/** For commands that look at events: the failure for a zone that the API does not know names the one that may be meant. */
export function readDepsOf({ reading, runtime }: { reading: ApiReading; runtime: Runtime }): ReadDeps {
  return { ...runtime, source: explainingZones(reading.source, listZones(reading.clientOf)) }
}

/** Closes all parts in parallel and waits for each, also after one fails; then throws the errors. */
export async function closeTogether(parts: Iterable<{ close(): Promise<unknown> }>): Promise<void> {
  const closed = await Promise.allSettled([...parts].map(async (part) => part.close()))
  const errors = closed.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []))
  if (errors.length === 1) throw errors[0]
  if (errors.length > 1) throw new AggregateError(errors, errors.map(messageOf).join('; '))
}
