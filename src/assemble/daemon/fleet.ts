import type { Config } from '../../config/schema.ts'
import type { RedisStateConfig } from '../../config/state.ts'
import { messageOf } from '../../domain/failure.ts'
import { within } from '../../domain/promises.ts'
import { nameOf } from '../../domain/redis-servers.ts'
import type { SinkReconciler } from '../../maintenance/housekeeping/reconcile-sinks.ts'
import { createAccountLimits } from '../../redis/account-limits.ts'
import { connectRedis, onConnected } from '../../redis/connection.ts'
import { createProcessRecord, livingProcesses, oldestScheduler } from '../../redis/process-record.ts'
import { redisFailure } from '../../redis/redis-failure.ts'
import { BullmqSchedule } from '../../schedule/bullmq/schedule.ts'
import { createHolder } from '../quiet-runtime.ts'
import type { Runtime } from '../runtime.ts'
import { openStore } from '../state.ts'
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
  const record = createProcessRecord({ keyPrefix, role, id: holder.id }, { client, clock })
  parts.defer(async () => void (await within(removeMs, record.remove(), clock).catch(() => undefined)))
  // After a reconnect Redis may hold an older state.
  let reconciling: SinkReconciler | undefined
  onConnected(client, () => reconciling?.allAgain())
  let storeTrouble: string | undefined

  /** Says that this process is alive, and publishes the API clocks that it has confirmed. Throws the Failure of Redis. */
  async function beat(accounts: readonly string[]): Promise<void> {
    const { isConfirmed, now, learn } = apiClock
    const known = accounts.filter((name) => isConfirmed(name))
    const told = () => new Map(known.map((name) => [name, now(name)]))
    try {
      // What another process tells, two answers over two connections have confirmed there.
      await record.tell({ told, learn: (account, offsetMs) => learn(account, offsetMs, {}) })
      storeTrouble = undefined
    } catch (error) {
      const failure = redisFailure(error, nameOf(state))
      storeTrouble = messageOf(failure)
      throw failure
    }
  }

  const open = parts.move()
  return {
    store,
    holder,
    storeTrouble: () => storeTrouble,
    readsFigures: async () =>
      role !== 'worker' && (await oldestScheduler(keyPrefix, { client, clock })) === holder.id,
    schedules: role !== 'worker',
    workers: () => livingProcesses(keyPrefix, { client, clock }),
    limitsOf: (account, { api: { maxRequestsPerSecond } }) =>
      createAccountLimits({ keyPrefix, account, maxRequestsPerSecond }, client, clock),
    createSchedule(now, deps) {
      const { streams, backfillStreams } = now.workers
      const accounts = now.accounts.map(({ name }) => name)
      const sinks = now.sinks.map(({ name }) => name)
      reconciling = deps.reconcile
      const own = {
        clock,
        telemetry,
        heartbeat: () => beat(accounts),
        reconcile: (stop: AbortSignal) => deps.reconcile.turn(stop),
      }
      return new BullmqSchedule(
        { connection: state, keyPrefix, role, sinks, streams, backfillStreams, tickMs: tickMsOf(now) },
        { ...deps, ...own },
      )
    },
    close: () => open.disposeAsync(),
  }
}

function tickMsOf({ poll }: Config): number {
  return Math.min(longestTickMs, Math.max(shortestTickMs, Math.round(poll.everySeconds * tickShareMs)))
}
