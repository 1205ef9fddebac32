import { WaitingError, Worker, type Job, type Queue } from 'bullmq'
import { cancelled, messageOf } from '../../domain/failure.ts'
import { orAborted, within } from '../../domain/promises.ts'
import type { Clock } from '../../ports/process.ts'
import type { RedisClient } from '../../redis/connection.ts'

/** The result of a job. `more`: the stream is to be queued again, behind those that wait. */
export type JobOutcome = 'done' | 'more'

export interface QueueWorkerOptions {
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
export class QueueWorker {
  readonly #options: QueueWorkerOptions
  readonly #worker: Worker
  readonly #stopping = new AbortController()
  #hasTaken = false
  #running = 0

  constructor(options: QueueWorkerOptions) {
    this.#options = options
    const { queue, client, places, lockMs, reportError, again } = options
    // BullMQ passes a signal only to a function with three parameters.
    const process = (job: Job, token: string | undefined, signal: AbortSignal | undefined) =>
      this.#process(job, token, signal)
    this.#worker = new Worker(queue.name, process, {
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
    this.#worker.on('error', (error) => this.#failed(error))
    this.#worker.on('lockRenewalFailed', (ids) => {
      for (const id of ids) this.#worker.cancelJob(id, 'the lock was lost')
    })
    this.#worker.on('completed', (job, outcome: JobOutcome) => {
      if (outcome === 'more' && !this.#stopping.signal.aborted) void again?.(job).catch(reportError)
    })
  }

  /** False when jobs wait, places are free, and none was taken since the last call. Rejects while Redis is away. */
  async isTurning(): Promise<boolean> {
    const isBusy = this.#hasTaken || this.#running >= this.#options.places
    this.#hasTaken = false
    return isBusy || (await this.#options.queue.getWaitingCount()) === 0
  }

  /** Returns running jobs to the queue. Resolves within seconds. */
  async stop(): Promise<void> {
    this.#stopping.abort(cancelled())
    const closed = this.#worker.close()
    this.#worker.cancelAllJobs('the worker stops')
    await within(graceMs + closeMs, closed, this.#options.clock).catch(() => undefined)
  }

  async #process(job: Job, token: string | undefined, given: AbortSignal | undefined): Promise<JobOutcome> {
    const signal = given ?? this.#stopping.signal
    this.#hasTaken = true
    this.#running++
    try {
      const work = this.#options.work(job, signal)
      const outcome = await orAborted(work, signal, { ms: graceMs, clock: this.#options.clock })
      if (!signal.aborted) return outcome
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      this.#running--
    }
    await job.moveToWait(token)
    throw new WaitingError()
  }

  #failed(thrown: Error): void {
    // Another worker has the job by now; the signal of this one was aborted.
    if (this.#stopping.signal.aborted || isLostLock(thrown)) return
    this.#options.reportError(thrown)
    if (!this.#worker.isPaused()) void this.#rest()
  }

  async #rest(): Promise<void> {
    await this.#worker.pause(true)
    await this.#options.clock.sleep(pauseMs, this.#stopping.signal).catch(() => undefined)
    if (!this.#stopping.signal.aborted) await this.#worker.resume()
  }
}

function isLostLock(error: unknown): boolean {
  return /could not renew lock|Missing (?:lock|key)|Lock mismatch|not in (?:the )?active/i.test(
    messageOf(error),
  )
}
