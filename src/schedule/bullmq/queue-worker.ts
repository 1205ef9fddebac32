import { WaitingError, Worker, type Job, type Queue } from 'bullmq'
import { cancelled, messageOf } from '../../domain/failure.ts'
import { orAborted, within } from '../../domain/promises.ts'
import type { Clock } from '../../ports/process.ts'
import type { RedisClient } from '../../redis/connection.ts'

/** The result of a job. `more`: the stream is to be queued again, behind those that wait. */
export type JobOutcome = 'done' | 'more'

interface QueueWorkerOptions {
  readonly queue: Queue
  /** Jobs worked on at once. */
  readonly places: number
  /** How long a lock lasts, and how often a worker looks for jobs whose worker died. */
  readonly lockMs: number
  readonly clock: Clock
  readonly reportError: (error: unknown) => void
  /** Waits without limit while Redis is away. The worker does not close it. */
  readonly client: RedisClient
  /** Must end soon when the signal aborts: the lock was lost, or the worker stops. */
  readonly work: (job: Job, signal: AbortSignal) => Promise<JobOutcome>
  /** Called when a job of which there is more has ended in Redis too. */
  readonly again?: (job: Job) => Promise<void>
}

/** Pause after an error: without it the worker would send thousands of requests a second to a full or failing Redis. */
const pauseMs = 500
/** Work that has not ended this long after an abort hangs; its job is returned to the queue. */
const graceMs = 2_000
const closeMs = 1_500
const blockSeconds = 5
/** Far above the number of stalls after which `createPumpJobs` lets a stream back off. */
const mostStalls = 10

/** BullMQ's own worker, which pauses after errors, aborts jobs whose lock was lost, and stops in bounded time. */
export function startQueueWorker(options: QueueWorkerOptions) {
  const { queue, places, lockMs, clock, reportError, client, work, again } = options
  const stopping = new AbortController()
  let hasTaken = false
  let running = 0

  async function process(job: Job, token: string | undefined, given: AbortSignal | undefined) {
    const signal = given ?? stopping.signal
    hasTaken = true
    running++
    try {
      const outcome = await orAborted(work(job, signal), signal, { ms: graceMs, clock })
      if (!signal.aborted) return outcome
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      running--
    }
    await job.moveToWait(token)
    throw new WaitingError()
  }

  // BullMQ passes a signal only to a function with three parameters.
  const worker = new Worker(queue.name, (job, token, signal) => process(job, token, signal), {
    connection: client,
    prefix: queue.opts.prefix!,
    concurrency: places,
    lockDuration: lockMs,
    stalledInterval: lockMs,
    maxStalledCount: mostStalls,
    drainDelay: blockSeconds,
    runRetryDelay: 1_000,
    skipVersionCheck: true,
    // Nothing of a job is kept after its end, since the checkpoint holds the result.
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  })

  async function rest(): Promise<void> {
    await worker.pause(true)
    await clock.sleep(pauseMs, stopping.signal).catch(() => undefined)
    if (!stopping.signal.aborted) await worker.resume()
  }
  worker.on('error', (thrown) => {
    // Another worker has the job by now; the signal of this one was aborted.
    if (stopping.signal.aborted || isLostLock(thrown)) return
    reportError(thrown)
    if (!worker.isPaused()) void rest()
  })
  worker.on('lockRenewalFailed', (ids) => {
    for (const id of ids) worker.cancelJob(id, 'the lock was lost')
  })
  worker.on('completed', (job, outcome: JobOutcome) => {
    if (outcome === 'more' && !stopping.signal.aborted) void again?.(job).catch(reportError)
  })
  return {
    /** False when jobs wait, places are free, and none was taken since the last call. Rejects while Redis is away. */
    async isTurning(): Promise<boolean> {
      const isBusy = hasTaken || running >= places
      hasTaken = false
      return isBusy || (await queue.getWaitingCount()) === 0
    },
    /** Returns running jobs to the queue. Resolves within seconds. */
    async stop(): Promise<void> {
      stopping.abort(cancelled())
      const closed = worker.close()
      worker.cancelAllJobs('the worker stops')
      await within(graceMs + closeMs, closed, clock).catch(() => undefined)
    },
  }
}

function isLostLock(error: unknown): boolean {
  return /could not renew lock|Missing (?:lock|key)|Lock mismatch|not in (?:the )?active/i.test(
    messageOf(error),
  )
}
