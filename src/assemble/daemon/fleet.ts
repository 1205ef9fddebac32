import { hostname } from 'node:os'
import type { Config } from '../../config/schema.ts'
import type { RedisStateConfig } from '../../config/state.ts'
import { messageOf } from '../../domain/failure.ts'
import { within } from '../../domain/promises.ts'
import { createAccountLimits } from '../../redis/account-limits.ts'
import { connectRedis, onConnected } from '../../redis/connection.ts'
import type { Holder, Store } from '../../ports/store.ts'
import { BullmqSchedule } from '../../schedule/bullmq/schedule.ts'
import { createHolder } from '../quiet-runtime.ts'
import type { Runtime } from '../runtime.ts'
import { openStore, workersIn } from '../state.ts'
import type { Backend, Role } from './backend.ts'

/** Interval of ticks as a share of the poll interval. A plan of many zones takes longer by itself. */
const tickShareMs = 1_000 / 30
const shortestTickMs = 1_000
const longestTickMs = 5_000
/** Time limit for a process that ends to remove its record. */
const removeMs = 500

/** Any number of processes over one Redis, which hold checkpoints, jobs and request budgets in common. */
export async function openFleet(
  config: Config,
  state: RedisStateConfig,
  role: Role,
  { clock, telemetry, apiClock }: Runtime,
): Promise<Backend> {
  const { keyPrefix } = state
  await using parts = new AsyncDisposableStack()
  const store = parts.adopt(await openStore(config, clock, { telemetry }), (each) => each.close())
  // The store and the schedule report errors of Redis, since their work stops then.
  const connected = connectRedis(state, { manner: 'prompt', name: `${keyPrefix}:shared` }, () => undefined)
  const client = parts.adopt(connected, (each) => each.disconnect())
  const holder = createHolder(false)
  const startedAtMs = clock.now()
  const { processes } = store
  parts.defer(async () => {
    await within(removeMs, processes.forget(holder.id), clock).catch(() => undefined)
  })
  // After a reconnect Redis may hold an older state.
  let reconnected: (() => void) | undefined
  onConnected(client, () => reconnected?.())
  let storeTrouble: string | undefined

  async function heartbeat(accounts: readonly string[]): Promise<void> {
    try {
      await beat({ store, holder, role, startedAtMs }, accounts, { clock, apiClock })
      storeTrouble = undefined
    } catch (error) {
      storeTrouble = messageOf(error)
      throw error
    }
  }

  const open = parts.move()
  return {
    store,
    holder,
    storeTrouble: () => storeTrouble,
    async leads() {
      if (role === 'worker') return false
      const { living } = await processes.living()
      // Work that one process of a fleet does is the work of the one that schedules for the longest time.
      return living.find((each) => each.role !== 'worker')?.id === holder.id
    },
    schedules: role !== 'worker',
    workers: () => workersIn(store),
    limitsOf: (account, { api: { maxRequestsPerSecond } }) =>
      createAccountLimits({ keyPrefix, account, maxRequestsPerSecond }, client, clock),
    createSchedule(now, deps) {
      const { streams, backfillStreams } = now.workers
      const accounts = now.accounts.map(({ name }) => name)
      const sinks = now.sinks.map(({ name }) => name)
      reconnected = deps.reconnected
      return new BullmqSchedule(
        { connection: state, keyPrefix, role, sinks, streams, backfillStreams, tickMs: tickMsOf(now) },
        { ...deps, heartbeat: () => heartbeat(accounts) },
      )
    },
    close: () => open.disposeAsync(),
  }
}

interface FleetMember {
  readonly store: Pick<Store, 'ledger' | 'processes'>
  readonly holder: Holder
  readonly role: Role
  readonly startedAtMs: number
}

/** Says that a process is alive, and what it has confirmed of the API's clocks. Throws Failure. */
export async function beat(
  { store, holder, role, startedAtMs }: FleetMember,
  accounts: readonly string[],
  { clock, apiClock }: Pick<Runtime, 'clock' | 'apiClock'>,
): Promise<void> {
  const { nowMs, living } = await store.processes.living()
  const storeAheadMs = nowMs - clock.steady()
  const known = accounts.filter((name) => apiClock.isConfirmed(name))
  const aheadMs = Object.fromEntries(
    known.map((name) => [name, Math.round(apiClock.now(name) - clock.steady() - storeAheadMs)]),
  )
  const facts = { role, host: hostname(), pid: process.pid, startedAtMs, aheadMs }
  await store.ledger.heartbeat(holder, facts)
  // A process that sends requests to the API knows its time better.
  if (role !== 'scheduler') return
  // What another process tells, two answers over two connections have confirmed there.
  for (const { aheadMs: told } of living)
    for (const [account, ms] of Object.entries(told)) apiClock.learn(account, ms + storeAheadMs, {})
}

function tickMsOf({ poll }: Config): number {
  return Math.min(longestTickMs, Math.max(shortestTickMs, Math.round(poll.everySeconds * tickShareMs)))
}
