import { hostname } from 'node:os'
import type { Config } from '../config/schema.ts'
import type { RedisStateConfig } from '../config/state.ts'
import { within } from '../domain/promises.ts'
import type { Holder, Store } from '../ports/store.ts'
import { connectLimits } from '../redis/account-limits.ts'
import { onConnected } from '../redis/connection.ts'
import { startBullmqSchedule } from '../schedule/bullmq/schedule.ts'
import type { Runtime } from '../assemble/runtime.ts'
import { createHolder, openStore } from '../assemble/state.ts'
import type { LoggedRuntime } from '../assemble/logged-runtime.ts'
import type { Backend } from './backend.ts'
import type { Role } from '../ports/process.ts'

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
  runtime: LoggedRuntime,
): Promise<Backend> {
  const { clock, telemetry } = runtime
  await using parts = new AsyncDisposableStack()
  const store = parts.adopt(await openStore(config, clock, { telemetry }), (each) => each.close())
  const { client, limitsOf } = connectLimits(state, clock)
  parts.defer(() => client.disconnect())
  const holder = createHolder(false)
  const { processes } = store
  parts.defer(async () => {
    await within(removeMs, processes.forget(holder.id), clock).catch(() => undefined)
  })
  // After a reconnect Redis may hold an older state.
  let reconnected: (() => void) | undefined
  onConnected(client, () => reconnected?.())
  const heartbeat = createHeartbeat(store, holder, role, runtime)
  const open = parts.move()
  return {
    store,
    holder,
    async leads() {
      if (role === 'worker') return false
      const { living } = await processes.living()
      // Work that one process of a fleet does is the work of the one that schedules for the longest time.
      const first = living.find((each) => each.role !== 'worker')
      // Where nobody can write, nobody is heard: then several may tell the same.
      return first === undefined ? store.writes.failure() !== undefined : first.id === holder.id
    },
    limitsOf,
    startSchedule({ accounts, sinks, poll }, deps) {
      reconnected = deps.reconnected
      const names = accounts.map(({ name }) => name)
      return startBullmqSchedule(
        {
          connection: state,
          role,
          sinks: sinks.map(({ name }) => name),
          tickMs: Math.min(
            longestTickMs,
            Math.max(shortestTickMs, Math.round(poll.everySeconds * tickShareMs)),
          ),
        },
        { ...deps, heartbeat: () => heartbeat(names) },
      )
    },
    close: () => open.disposeAsync(),
  }
}

/** Says that a process is alive, and what it has confirmed of the clocks of these accounts. Throws Failure. */
export function createHeartbeat(
  store: Pick<Store, 'ledger' | 'processes'>,
  holder: Holder,
  role: Role,
  { clock, apiClock }: Pick<Runtime, 'clock' | 'apiClock'>,
) {
  const startedAtMs = clock.now()
  return async (accounts: readonly string[]): Promise<void> => {
    const { nowMs, living } = await store.processes.living()
    const storeAheadMs = nowMs - clock.steady()
    const sure = accounts.filter((name) => apiClock.isConfirmed(name))
    const aheadMs = Object.fromEntries(
      sure.map((name) => [name, Math.round(apiClock.now(name) - clock.steady() - storeAheadMs)]),
    )
    await store.ledger.heartbeat(holder, { role, host: hostname(), pid: process.pid, startedAtMs, aheadMs })
    // A process that sends requests to the API knows its time better.
    if (role !== 'scheduler') return
    // What another process tells, two answers over two connections have confirmed there.
    for (const { aheadMs: told } of living)
      for (const [account, ms] of Object.entries(told)) apiClock.learn(account, ms + storeAheadMs, {})
  }
}
