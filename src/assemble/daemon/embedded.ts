import type { Config } from '../../config/schema.ts'
import { Failure } from '../../domain/failure.ts'
import { LocalSchedule } from '../../schedule/local/schedule.ts'
import type { Backend } from './backend.ts'
import { closeInOrder } from '../close-all.ts'
import type { Runtime } from '../runtime.ts'
import { createHolder } from '../quiet-runtime.ts'
import { createLock, openStore, workersOf } from '../state.ts'

const lockWaitMs = 10_000
const lockRetryMs = 250

/** One process on one SQLite database, guarded by a lock that the kernel releases with the process. */
export async function openEmbedded(config: Config, { clock, telemetry }: Runtime): Promise<Backend> {
  const store = await openStore(config, clock)
  const lock = createLock(config, clock)
  const holder = createHolder(true)
  return {
    store,
    holder,
    schedules: true,
    async acquire(signal) {
      const untilMs = clock.monotonic() + lockWaitMs
      let isTold = false
      for (;;) {
        const answer = await lock.acquire()
        if (answer.ok) return
        const what = `another shieldlog runs on this state: ${answer.holder}`
        if (clock.monotonic() >= untilMs) {
          throw new Failure('stop', 'held', `${what}; stop it, or set another state for this one`)
        }
        // During a rolling replacement the old container still holds the lock: wait instead of failing.
        if (!isTold)
          telemetry.emit({ name: 'Warned', about: 'state', text: `${what}; waiting for it to end` })
        isTold = true
        await clock.sleep(lockRetryMs, signal)
      }
    },
    workers: () => workersOf(lock),
    limitsOf: () => undefined,
    storeTrouble: () => undefined,
    readsFigures: async () => true,
    createSchedule({ config: now, plan, pump, housekeep, reconciler, turned, now: nowOf, ticks }) {
      let isReconciled = false
      return new LocalSchedule({
        clock,
        telemetry,
        plan: () => ticks.tick(plan),
        pump: (planned, signal) => ticks.started(() => pump(planned, signal)),
        places: { live: now.workers.streams, backfill: now.workers.backfillStreams },
        heartbeat: () => store.ledger.heartbeat(holder),
        async housekeep(signal) {
          // Skipped when only the housekeeping has to be repeated.
          if (!isReconciled) await reconciler.reconcileAll(signal)
          const isDone = await housekeep(signal)
          isReconciled = !isDone
          return isDone
        },
        turned: () => turned('schedule'),
        now: nowOf,
      })
    },
    async close() {
      await closeInOrder(
        () => lock.release(),
        () => store.close(),
      )
    },
  }
}
