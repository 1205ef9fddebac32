import type { Config } from '../config/schema.ts'
import type { RedisStateConfig } from '../config/state.ts'
import { messageOf } from '../domain/failure.ts'
import { connectRedis, onConnected } from '../redis/connection.ts'
import { createSharedAccountGate } from '../redis/account-gate.ts'
import { livingProcesses } from '../schedule/bullmq/presence.ts'
import { createBullmqSchedule } from '../schedule/bullmq/schedule.ts'
import { createAccountGate } from '../shield/account-gate.ts'
import type { Backend, Role } from './backend.ts'
import { closeInOrder } from './close-all.ts'
import { createHolder, type Ground } from './ground.ts'
import { openStore } from './state.ts'

/**
 * Ticks come often enough for the pace of the polls, and for backfills, which rest from when a live stream is due until
 * a tick has queued it; a plan of many zones slows them down by itself. Of each second between two polls.
 */
const tickShareMs = 1_000 / 30
const shortestTickMs = 1_000
const longestTickMs = 5_000
const reconcileAllEveryMs = 600_000

/** Any number of processes over one Redis: checkpoints, jobs, request budgets and who is alive are shared. */
export async function openFleet(
  config: Config,
  state: RedisStateConfig,
  role: Role,
  { clock, telemetry }: Ground,
): Promise<Backend> {
  const store = await openStore(config, clock, { telemetry })
  // What is wrong with Redis is told by the store and the schedule, whose work cannot go on without it.
  const client = connectRedis(state, { manner: 'prompt', name: `${state.keyPrefix}:shared` }, () => undefined)
  const holder = createHolder(false)
  const { keyPrefix } = state
  let trouble: string | undefined
  // Redis may be older than it was when it answers again.
  let reconcileAllAtMs = -Infinity
  onConnected(client, () => (reconcileAllAtMs = -Infinity))

  async function beat(): Promise<void> {
    try {
      await store.ledger.heartbeat(holder)
      trouble = undefined
    } catch (error) {
      trouble = messageOf(error)
      throw error
    }
  }

  return {
    store,
    holder,
    storeTrouble: () => trouble,
    tellsState: role !== 'worker',
    acquire: async () => undefined,
    workers: () => livingProcesses(keyPrefix, { client, clock }),
    gateOf(account, { api: { maxRequestsPerSecond } }) {
      const local = createAccountGate({ account, maxRequestsPerSecond }, clock)
      return createSharedAccountGate({ keyPrefix, account, maxRequestsPerSecond }, { clock, client, local })
    },
    createSchedule({
      config: now,
      ticks,
      plan,
      planned,
      pump,
      housekeep,
      reconciler,
      turned,
      now: nowOf,
      apiClock,
    }) {
      const { streams, backfillStreams } = now.workers
      const tickMs = Math.min(
        longestTickMs,
        Math.max(shortestTickMs, Math.round(now.poll.everySeconds * tickShareMs)),
      )
      const accounts = now.accounts.map(({ name }) => name)
      const told = () =>
        new Map(accounts.flatMap((name) => (apiClock.isConfirmed(name) ? [[name, apiClock.now(name)]] : [])))
      return createBullmqSchedule(
        { connection: state, keyPrefix, role, streams, backfillStreams, tickMs },
        {
          clock,
          telemetry,
          sinks: now.sinks.length,
          plan: () => ticks.tick(plan),
          planned,
          pump,
          now: nowOf,
          heartbeat: beat,
          housekeep,
          async settle(signal) {
            if (clock.monotonic() < reconcileAllAtMs) return await reconciler.reconcileFailed(signal)
            reconcileAllAtMs = clock.monotonic() + reconcileAllEveryMs
            await reconciler.reconcileAll(signal)
          },
          turned,
          tracing: { inject: ticks.inject, within: ticks.within },
          clocks: { told, learn: apiClock.learn },
        },
      )
    },
    async close() {
      await closeInOrder(
        () => store.close(),
        async () => client.disconnect(),
      )
    },
  }
}
