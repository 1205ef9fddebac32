import type { Config } from '../../config/schema.ts'
import { Failure } from '../../domain/failure.ts'
import type { ScheduleLock } from '../../ports/process.ts'
import { LocalSchedule } from '../../schedule/local/schedule.ts'
import type { Backend } from './backend.ts'
import type { Runtime } from '../runtime.ts'
import { createHolder } from '../quiet-runtime.ts'
import { createLock, openStore, workersOf } from '../state.ts'

const lockWaitMs = 10_000
const lockRetryMs = 250

/**
 * One process on one SQLite database, guarded by a lock that the kernel releases with the process. Throws Failure, `held`
 * while another process has the lock.
 */
export async function openEmbedded(config: Config, runtime: Runtime, signal: AbortSignal): Promise<Backend> {
  const { clock, telemetry } = runtime
  await using parts = new AsyncDisposableStack()
  const store = parts.adopt(await openStore(config, clock), (each) => each.close())
  const lock = parts.adopt(createLock(config, clock), (each) => each.release())
  await acquire(lock, runtime, signal)
  const holder = createHolder(true)
  const open = parts.move()
  return {
    store,
    holder,
    schedules: true,
    workers: () => workersOf(lock),
    limitsOf: () => undefined,
    storeTrouble: () => undefined,
    readsFigures: async () => true,
    createSchedule({ workers: { streams: live, backfillStreams: backfill } }, deps) {
      const heartbeat = () => store.ledger.heartbeat(holder)
      const own = { clock, telemetry, heartbeat, reconcile: (stop: AbortSignal) => deps.reconcile.turn(stop) }
      return new LocalSchedule({ live, backfill }, { ...deps, ...own })
    },
    close: () => open.disposeAsync(),
  }
}

/** Waits for a process that ends: during a rolling replacement the old container still holds the lock. */
async function acquire(
  lock: ScheduleLock,
  { clock, telemetry }: Runtime,
  signal: AbortSignal,
): Promise<void> {
  const untilMs = clock.monotonic() + lockWaitMs
  for (let tries = 1; ; tries++) {
    const answer = await lock.acquire()
    if (answer.ok) return
    const what = `another shieldlog runs on this state: ${answer.holder}`
    if (clock.monotonic() >= untilMs)
      throw new Failure('stop', 'held', `${what}; stop it, or set another state for this one`)
    if (tries === 1)
      telemetry.emit({ name: 'Warned', about: 'state', text: `${what}; waiting for it to end` })
    await clock.sleep(lockRetryMs, signal)
  }
}
