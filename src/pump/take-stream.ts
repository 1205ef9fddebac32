import { newCheckpoint } from '../domain/checkpoint.ts'
import { createSession, type PumpDeps, type PumpJob, type Session } from './session.ts'
import type { Clock } from '../ports/process.ts'
import type { Holder, Store } from '../ports/store.ts'

/** What taking a stream needs of a job; the sink is opened separately. */
export type TakeJob = Omit<PumpJob, 'sink'>

/** A stream whose fence is held until it is disposed of. */
export type TakenStream<Job = PumpJob> = Session<Job> & AsyncDisposable

/**
 * Takes the fence of a stream, and with it the checkpoint, the committed lengths and the store's id. Throws `held` while
 * another process has the stream, and the Failures of a store. Disposing of it releases the fence and never rejects.
 */
export async function takeStream<Job extends TakeJob>(job: Job, deps: PumpDeps): Promise<TakenStream<Job>> {
  const { ledger } = deps.store
  const { fence, storeId, checkpoint: held } = await ledger.take(job.stream, deps.holder)
  const checkpoint = held ?? newCheckpoint(job.stream, deps.apiClock.now(job.zone.account), job.ordering)
  return {
    ...createSession(job, deps, { fence, storeId, checkpoint }),
    async [Symbol.asyncDispose]() {
      // A failed release makes the next pump wait; it must not hide the error that ended this one.
      await ledger.release(job.stream, fence).catch(() => undefined)
    },
  }
}

const everyMs = 5_000

/** Sends heartbeats of a holder to the store while the work runs. */
export async function withHeartbeat<T>(
  { store, clock, holder }: { readonly store: Store; readonly clock: Clock; readonly holder: Holder },
  work: () => Promise<T>,
): Promise<T> {
  const ended = new AbortController()
  const beating = beat()
  try {
    return await work()
  } finally {
    ended.abort()
    await beating
  }

  async function beat(): Promise<void> {
    while (!ended.signal.aborted) {
      // A failed heartbeat is ignored: the next one follows, and the work itself fails if the store is gone.
      await store.ledger.heartbeat(holder).catch(() => undefined)
      await clock.sleep(everyMs, ended.signal).catch(() => undefined)
    }
  }
}
