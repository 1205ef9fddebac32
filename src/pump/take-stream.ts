import { newCheckpoint } from '../domain/scan/progress.ts'
import { createSession, type PumpDeps, type PumpJob, type Session } from './session.ts'

/** What holding a stream needs of a job; the sink is opened apart. */
export type TakeJob = Omit<PumpJob, 'sink'>

/** A stream under its fence, until it is disposed of. */
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
      // A lost release costs the next pump a wait; it must not hide why this one ended.
      await ledger.release(job.stream, fence).catch(() => undefined)
    },
  }
}
