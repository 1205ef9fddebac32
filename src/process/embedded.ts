import { openStore, createLock, createHolder } from '../assemble/state.ts'
import type { Config } from '../config/schema.ts'
import type { LoggedRuntime } from '../assemble/logged-runtime.ts'
import type { Backend } from './backend.ts'
import { retryWhileHeld } from '../domain/retry.ts'
import { startLocalSchedule } from '../schedule/local/schedule.ts'
import type { ScheduleLock } from '../ports/process.ts'
import { Failure } from '../domain/failure.ts'

const lockWaitMs = 10_000

/**
 * One process on one SQLite database, guarded by a lock that the kernel releases with the process. Throws Failure, `held`
 * while another process has the lock.
 */
export async function openEmbedded(
  config: Config,
  { clock }: LoggedRuntime,
  signal: AbortSignal,
): Promise<Backend> {
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
