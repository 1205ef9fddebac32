import type { Config } from '../../config/schema.ts'
import type { RedisStateConfig } from '../../config/state.ts'
import { messageOf } from '../../domain/failure.ts'
import { within } from '../../domain/promises.ts'
import type { SinkReconciler } from '../../maintenance/housekeeping/reconcile-sinks.ts'
import { knownSinks } from '../../maintenance/housekeeping/rename-sink.ts'
import type { Clock } from '../../ports/process.ts'
import type { ApiClock } from '../../pump/api-clock.ts'
import { createAccountLimits } from '../../redis/account-limits.ts'
import { connectRedis, onConnected } from '../../redis/connection.ts'
import { livingProcesses, oldestScheduler, ProcessRecord } from '../../redis/process-record.ts'
import { redisFailure } from '../../redis/redis-failure.ts'
import { nameOf } from '../../redis/server-name.ts'
import { BullmqSchedule } from '../../schedule/bullmq/schedule.ts'
import { closeInOrder } from '../close-all.ts'
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
  const store = await openStore(config, clock, { telemetry })
  // The store and the schedule report errors of Redis, since their work stops then.
  const client = connectRedis(state, { manner: 'prompt', name: `${state.keyPrefix}:shared` }, () => undefined)
  const holder = createHolder(false)
  const { keyPrefix } = state
  const record = new ProcessRecord({ keyPrefix, role, id: holder.id }, { client, clock })
  const heartbeat = new Heartbeat(record, apiClock, nameOf(state))
  // After a reconnect Redis may hold an older state.
  let turns: ReconcileTurns | undefined
  onConnected(client, () => turns?.allAgain())

  return {
    store,
    holder,
    storeTrouble: () => heartbeat.trouble,
    readsFigures: async () =>
      role !== 'worker' && (await oldestScheduler(keyPrefix, { client, clock })) === holder.id,
    schedules: role !== 'worker',
    acquire: async () => undefined,
    workers: () => livingProcesses(keyPrefix, { client, clock }),
    limitsOf: (account, { api: { maxRequestsPerSecond } }) =>
      createAccountLimits({ keyPrefix, account, maxRequestsPerSecond }, client, clock),
    createSchedule({ config: now, ticks, plan, planned, pump, fail, reconciler, ...deps }) {
      const { streams, backfillStreams } = now.workers
      const accounts = now.accounts.map(({ name }) => name)
      const sinks = now.sinks.map(({ name }) => name)
      const own = createReconcileTurns(reconciler, clock)
      turns = own
      return new BullmqSchedule(
        { connection: state, keyPrefix, role, sinks, streams, backfillStreams, tickMs: tickMsOf(now) },
        {
          clock,
          telemetry,
          plan: () => ticks.tick(plan),
          planned,
          pump,
          fail,
          now: deps.now,
          heartbeat: () => heartbeat.beat(accounts),
          housekeep: deps.housekeep,
          removedSinks: async () => (await knownSinks(store)).filter((name) => !sinks.includes(name)),
          reconcile: own.turn,
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

/** Says that this process is alive, and publishes the API clocks that it has confirmed. */
class Heartbeat {
  readonly #record: ProcessRecord
  readonly #apiClock: ApiClock
  readonly #server: string
  #trouble: string | undefined

  constructor(record: ProcessRecord, apiClock: ApiClock, server: string) {
    this.#record = record
    this.#apiClock = apiClock
    this.#server = server
  }

  /** Why the last one failed. */
  get trouble(): string | undefined {
    return this.#trouble
  }

  /** Throws the Failure of Redis. */
  async beat(accounts: readonly string[]): Promise<void> {
    const { isConfirmed, now, learn } = this.#apiClock
    const known = accounts.filter((name) => isConfirmed(name))
    const told = () => new Map(known.map((name) => [name, now(name)]))
    try {
      // What another process tells, two answers over two connections have confirmed there.
      await this.#record.tell({ told, learn: (account, offsetMs) => learn(account, offsetMs, {}) })
      this.#trouble = undefined
    } catch (error) {
      const failure = redisFailure(error, this.#server)
      this.#trouble = messageOf(failure)
      throw failure
    }
  }
}

const allEveryMs = 600_000

export interface ReconcileTurns {
  /** Call it every few seconds. Throws the Failures of the store; then the next call reconciles all streams. */
  readonly turn: (signal: AbortSignal) => Promise<void>
  /** The store may hold an older state: the next turn reconciles all streams. */
  readonly allAgain: () => void
}

/** Reconciles all streams at first and every ten minutes, and those that could not be reconciled at each turn. */
export function createReconcileTurns(
  reconciler: Pick<SinkReconciler, 'reconcileAll' | 'reconcileFailed'>,
  clock: Pick<Clock, 'monotonic'>,
): ReconcileTurns {
  let allAtMs = -Infinity
  const allAgain = () => {
    allAtMs = -Infinity
  }
  return {
    allAgain,
    async turn(signal) {
      if (clock.monotonic() < allAtMs) return await reconciler.reconcileFailed(signal)
      // Before the work: a call of `allAgain` meanwhile must count.
      allAtMs = clock.monotonic() + allEveryMs
      try {
        await reconciler.reconcileAll(signal)
      } catch (error) {
        allAgain()
        throw error
      }
    },
  }
}
