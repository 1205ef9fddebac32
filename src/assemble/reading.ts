import type { Config } from '../config/schema.ts'
import type { AccountGate, Clock } from '../ports/process.ts'
import type { Source } from '../ports/delivery.ts'
import { createAccountGate } from '../shield/client/account-gate.ts'
import { ShieldClient } from '../shield/client/client.ts'
import { PageBudget } from '../shield/client/page-budget.ts'
import { createEventLogSource } from '../shield/event-logs.ts'
import { createRedactor } from '../shield/redaction/redact.ts'
import type { Backend } from './daemon/backend.ts'
import { closeTogether } from './close-all.ts'
import { createQuietRuntime, type QuietRuntime } from './quiet-runtime.ts'
import { fleetState } from './state.ts'
import { version } from './version.ts'
import { listZones, type AccountZones } from '../discovery/list-zones.ts'

/** The API clients of all configured accounts. */
export interface Reading {
  readonly source: Source
  clientOf(account: string): ShieldClient
  /** The gate that all requests of an account pass. */
  gateOf(account: string): AccountGate
  close(): Promise<void>
}

export function createReading(
  config: Config,
  { clock, telemetry }: QuietRuntime,
  limitsOf?: Backend['limitsOf'],
): Reading {
  const { api, workers } = config
  const budget = new PageBudget(api.maxBytesInFlight)
  const { maxRequestsPerSecond } = api
  const gates = new Map(
    config.accounts.map(({ name }) => [
      name,
      createAccountGate({ account: name, maxRequestsPerSecond }, clock, limitsOf?.(name, config)),
    ]),
  )
  const clients = new Map(
    config.accounts.map((account) => {
      const client = new ShieldClient({
        baseUrl: api.baseUrl,
        accessKey: account.accessKey,
        account: account.name,
        firstPage: api.firstPage,
        requestTimeoutMs: api.requestTimeoutSeconds * 1000,
        maxPageBytes: api.maxPageBytes,
        maxRequestsPerSecond,
        tls: api.tls,
        budget,
        clock,
        telemetry,
        version,
        // Each pump has at most one page under way and one ahead.
        connections: (workers.streams + workers.backfillStreams) * 2,
        gate: gates.get(account.name)!,
      })
      return [account.name, client]
    }),
  )
  const redactor = createRedactor(config.redact)
  const clientOf = (account: string) => clients.get(account)!
  return {
    source: { ...createEventLogSource(clientOf, () => redactor), address: api.baseUrl },
    clientOf,
    gateOf: (account) => gates.get(account)!,
    async close() {
      await closeTogether(clients.values())
    },
  }
}

interface SharedBudgets {
  readonly limitsOf?: Backend['limitsOf']
  close(): void
}

/** For a command that runs next to a fleet: the request budgets that its processes share. SQLite has none. */
export async function sharedBudgets(config: Config, clock: Clock): Promise<SharedBudgets> {
  const fleet = fleetState(config)
  if (fleet === undefined) return { close: () => undefined }
  const [{ connectRedis }, { createAccountLimits }] = await Promise.all([
    import('../redis/connection.ts'),
    import('../redis/account-limits.ts'),
  ])
  const { keyPrefix } = fleet
  // Without an answer of Redis the gate uses a budget of this process.
  const client = connectRedis(fleet, { manner: 'prompt', name: `${keyPrefix}:shared` }, () => undefined)
  return {
    limitsOf: (account, { api: { maxRequestsPerSecond } }) =>
      createAccountLimits({ keyPrefix, account, maxRequestsPerSecond }, client, clock),
    close: () => client.disconnect(),
  }
}

/** Lends the API client of an account to `use`. */
export async function withClient<Result>(
  config: Config,
  account: string,
  use: (client: ShieldClient) => Promise<Result>,
): Promise<Result> {
  const reading = createReading(config, createQuietRuntime())
  try {
    return await use(reading.clientOf(account))
  } finally {
    await reading.close()
  }
}

interface ListingOptions {
  readonly runtime?: QuietRuntime
  /** Default: all of the configuration. */
  readonly accounts?: Config['accounts']
  readonly limitsOf?: Backend['limitsOf'] | undefined
}

/** Lists the shield zones of accounts. Throws only `cancelled`, and bugs. */
export async function listAccounts(
  config: Config,
  signal: AbortSignal,
  { runtime = createQuietRuntime(), accounts = config.accounts, limitsOf }: ListingOptions = {},
): Promise<AccountZones[]> {
  const reading = createReading(config, runtime, limitsOf)
  try {
    return await listZones(reading.clientOf)(accounts, signal)
  } finally {
    await reading.close()
  }
}
