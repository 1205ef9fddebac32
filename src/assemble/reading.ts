import type { Config } from '../config/schema.ts'
import type { Source } from '../ports/source.ts'
import { createShieldClient, type ShieldClient } from '../shield/client.ts'
import { createEventLogSource } from '../shield/event-logs.ts'
import { createPageBudget } from '../shield/page-budget.ts'
import { createRedactor } from '../shield/redact.ts'
import type { Backend } from './backend.ts'
import { closeTogether } from './close-all.ts'
import type { Ground } from './ground.ts'
import { version } from './version.ts'

/** The API under all configured accounts. */
export interface Reading {
  readonly source: Source
  clientOf(account: string): ShieldClient
  close(): Promise<void>
}

/** `gateOf` gives the request budget of an account that processes share. */
export function createReading(
  config: Config,
  { clock, telemetry }: Ground,
  gateOf?: Backend['gateOf'],
): Reading {
  const { api, workers } = config
  const budget = createPageBudget(api.maxBytesInFlight)
  const clients = new Map(
    config.accounts.map((account) => {
      const gate = gateOf?.(account.name, config)
      const client = createShieldClient({
        baseUrl: api.baseUrl,
        accessKey: account.accessKey,
        account: account.name,
        firstPage: api.firstPage,
        requestTimeoutMs: api.requestTimeoutSeconds * 1000,
        maxPageBytes: api.maxPageBytes,
        maxRequestsPerSecond: api.maxRequestsPerSecond,
        tls: api.tls,
        budget,
        clock,
        telemetry,
        version,
        // Each pump has at most one page under way and one ahead.
        connections: (workers.streams + workers.backfillStreams) * 2,
        ...(gate !== undefined && { gate }),
      })
      return [account.name, client]
    }),
  )
  const redactor = createRedactor(config.redact)
  const clientOf = (account: string) => clients.get(account)!
  return {
    source: { ...createEventLogSource(clientOf, () => redactor), address: api.baseUrl },
    clientOf,
    async close() {
      await closeTogether(clients.values())
    },
  }
}
