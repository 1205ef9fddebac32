import type { Config } from '../config/schema.ts'
import { Failure, isFailure } from '../domain/failure.ts'
import { retryWhileHeld } from '../domain/retry.ts'
import type { Schedule, ScheduleLock } from '../ports/process.ts'
import type { Holder, Store } from '../ports/store.ts'
import { startLocalSchedule } from '../schedule/local/schedule.ts'
import type { ScheduleDeps } from '../schedule/pumping.ts'
import { createHolder } from '../assemble/runtime.ts'
import type { LimitsOf } from '../assemble/reading.ts'
import type { LoggedRuntime } from '../assemble/logged-runtime.ts'
import { createLock, fleetState, openStore } from '../assemble/state.ts'

export type Role = 'all' | 'scheduler' | 'worker'

/** The parts that depend on `state`: the store, what starts pumps, and what the processes of a fleet share. */
export interface Backend {
  readonly store: Store
  readonly holder: Holder
  readonly limitsOf?: LimitsOf
  /** `reconnected`: called once the store may hold an older state. */
  startSchedule(
    config: Config,
    deps: Omit<ScheduleDeps, 'heartbeat'> & { readonly reconnected: () => void },
  ): Schedule
  /** Whether this process of those that share the store does what one of them does. Rejects while that is not known. */
  leads(): Promise<boolean>
  /** Why the store refuses writes, by the latest heartbeat of a fleet's process; undefined where it accepts them. */
  storeTrouble?(): string | undefined
  close(): Promise<void>
}

const askAgainMs = 2_000

/**
 * With `waits`, retries until the server behind `state` answers, which may start later than this process or be away for
 * a while, and calls it after each failed try. Throws Failure for errors that waiting does not fix.
 */
export async function openBackend(
  config: Config,
  role: Role,
  runtime: LoggedRuntime,
  signal: AbortSignal,
  waits?: (failure: Failure) => Promise<void>,
): Promise<Backend> {
  const { clock, telemetry } = runtime
  const fleet = fleetState(config)
  for (let isTold = false; ; isTold = true) {
    try {
      if (fleet === undefined) return await openEmbedded(config, runtime, signal)
      // Loaded only for Redis: the clients of Redis and its queues take 20 MB.
      const { openFleet } = await import('./fleet.ts')
      return await openFleet(config, fleet, role, runtime)
    } catch (error) {
      if (waits === undefined || !isFailure(error) || error.kind !== 'retry') throw error
      if (!isTold) telemetry.emit({ name: 'Warned', about: 'state', text: error.message })
      await waits(error)
    }
    await clock.sleep(askAgainMs, signal)
  }
}

const lockWaitMs = 10_000

/**
 * One process on one SQLite database, guarded by a lock that the kernel releases with the process. Throws Failure, `held`
 * while another process has the lock.
 */
async function openEmbedded(config: Config, { clock }: LoggedRuntime, signal: AbortSignal): Promise<Backend> {
  await using parts = new AsyncDisposableStack()
  const store = parts.adopt(await openStore(config, clock), (each) => each.close())
  const lock = parts.adopt(createLock(config, store, clock), (each) => each.release())
  // Waits for a process that ends: during a rolling replacement the old container still holds the lock.
  await retryWhileHeld(() => acquire(lock), { clock, patienceMs: lockWaitMs }, signal)
  const holder = createHolder(true)
  const open = parts.move()
  return {
    store,
    holder,
    leads: async () => true,
    startSchedule: (_, deps) =>
      startLocalSchedule({ ...deps, heartbeat: () => store.ledger.heartbeat(holder) }),
    close: () => open.disposeAsync(),
  }
}

async function acquire(lock: ScheduleLock): Promise<void> {
  const other = await lock.acquire()
  if (other === undefined) return
  const what = `another shieldlog runs on this state: ${other}`
  throw new Failure('stop', 'held', `${what}; stop it, or set another state for this one`)
}
