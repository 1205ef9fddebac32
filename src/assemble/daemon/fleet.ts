import type { Config } from '../../config/schema/schema.ts'
import type { RedisStateConfig } from '../../config/schema/state.ts'
import { messageOf } from '../../domain/failure.ts'
import { within } from '../../domain/within.ts'
import { knownSinks } from '../../maintenance/housekeeping/rename-sink.ts'
import { connectRedis, onConnected } from '../../redis/connection.ts'
import { createSharedAccountGate } from '../../redis/account-gate.ts'
import { livingProcesses, ProcessRecord } from '../../redis/process-record.ts'
import { redisFailure } from '../../redis/redis-failure.ts'
import { nameOf } from '../../redis/server-name.ts'
import { BullmqSchedule } from '../../schedule/bullmq/schedule.ts'
import { createAccountGate } from '../../shield/client/account-gate.ts'
import type { Backend, Role } from '../backend.ts'
import { closeInOrder } from '../close-all.ts'
import { createHolder, type Ground } from '../ground.ts'
import { openStore } from '../state.ts'

/**
 * Ticks come often enough for the pace of the polls, and for backfills, which wait from when a live stream is due until
 * a tick has queued it; a plan of many zones slows them down by itself. Of each second between two polls.
 */
const tickShareMs = 1_000 / 30
const shortestTickMs = 1_000
const longestTickMs = 5_000
const reconcileAllEveryMs = 600_000
/** So long a process that ends tries to say so. */
const removeMs = 500

/** Any number of processes over one Redis: checkpoints, jobs, request budgets and who is alive are shared. */
export async function openFleet(
  config: Config,
  state: RedisStateConfig,
  role: Role,
  { clock, telemetry, apiClock }: Ground,
): Promise<Backend> {
  const store = await openStore(config, clock, { telemetry })
  // What is wrong with Redis is told by the store and the schedule, whose work cannot go on without it.
  const client = connectRedis(state, { manner: 'prompt', name: `${state.keyPrefix}:shared` }, () => undefined)
  const holder = createHolder(false)
  const { keyPrefix } = state
  const record = new ProcessRecord({ keyPrefix, role, id: holder.id }, { client, clock })
  let trouble: string | undefined
  // Redis may be older than it was when it answers again.
  let reconcileAllAtMs = -Infinity
  onConnected(client, () => (reconcileAllAtMs = -Infinity))

  /** Tells also how far the API's clocks are ahead, as far as this process asks them itself. */
  async function beat(accounts: readonly string[]): Promise<void> {
    const known = accounts.filter((name) => apiClock.isConfirmed(name))
    const told = () => new Map(known.map((name) => [name, apiClock.now(name)]))
    try {
      await record.tell({ told, learn: apiClock.learn })
      trouble = undefined
    } catch (error) {
      const failure = redisFailure(error, nameOf(state))
      trouble = messageOf(failure)
      throw failure
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
    createSchedule({ config: now, ticks, plan, planned, pump, fail, gateOf, reconciler, ...deps }) {
      const { streams, backfillStreams } = now.workers
      const accounts = now.accounts.map(({ name }) => name)
      const sinks = now.sinks.map(({ name }) => name)
      return new BullmqSchedule(
        { connection: state, keyPrefix, role, sinks, streams, backfillStreams, tickMs: tickMsOf(now) },
        {
          clock,
          telemetry,
          plan: () => ticks.tick(plan),
          planned,
          pump,
          fail,
          gateOf,
          now: deps.now,
          heartbeat: () => beat(accounts),
          housekeep: deps.housekeep,
          removedSinks: async () => (await knownSinks(store)).filter((name) => !sinks.includes(name)),
          async settle(signal) {
            if (clock.monotonic() < reconcileAllAtMs) return await reconciler.reconcileFailed(signal)
            reconcileAllAtMs = clock.monotonic() + reconcileAllEveryMs
            await reconciler.reconcileAll(signal)
          },
          turned: deps.turned,
          tracing: { inject: ticks.inject, within: ticks.within },
        },
      )
    },
    async close() {
      await within(removeMs, record.remove(), clock).catch(() => undefined)
      await closeInOrder(
        () => store.close(),
        async () => client.disconnect(),
      )
    },
  }
}

function tickMsOf({ poll }: Config): number {
  return Math.min(longestTickMs, Math.max(shortestTickMs, Math.round(poll.everySeconds * tickShareMs)))
}
