import { WaitingError, Worker, type Job, type Queue } from 'bullmq'
import { cancelled, messageOf } from '../../domain/failure.ts'
import { orAborted, within } from '../../domain/within.ts'
import type { Clock } from '../../ports/clock.ts'
import type { RedisClient } from '../../redis/connection.ts'
import { queuePrefix } from './queues.ts'
import type { Voice } from './voice.ts'

/** What became of a job's work. `more`: the stream is to be queued again, behind those that wait. */
export type Outcome = 'done' | 'more'

export interface QueueWorkerOptions {
  readonly queue: Queue
  readonly keyPrefix: string
  /** Jobs worked on at once. */
  readonly places: number
  /** How long a lock lasts, and how often somebody looks for jobs whose worker died. */
  readonly lockMs: number
}

export interface QueueWorkerDeps {
  readonly clock: Clock
  readonly voice: Voice
  /** Waits for ever while Redis is away. Stays open. */
  readonly client: RedisClient
  /** Must end soon when the signal aborts: the lock was lost, or the worker stops. */
  readonly work: (job: Job, signal: AbortSignal) => Promise<Outcome>
  /** Called when the job has ended in Redis too. */
  readonly ended?: (job: Job, outcome: Outcome) => Promise<void>
}

/** After an error: the worker asks no more, where a full or failing Redis would have it ask thousands of times a second. */
const pauseMs = 500
/** Work that has not ended so long after an abort hangs; its job is given back. */
const graceMs = 2_000
const closeMs = 1_500
const blockSeconds = 5
/** Whoever works on a job counts its stalls and lets its stream back off long before. */
const mostStalls = 10

/** BullMQ's own worker, which rests after errors, hears of lost locks, and stops in bounded time. */
export class QueueWorker {
  readonly #options: QueueWorkerOptions
  readonly #deps: QueueWorkerDeps
  readonly #worker: Worker
  readonly #stopping = new AbortController()
  #taken = 0
  #takenBefore = 0
  #running = 0

  constructor(options: QueueWorkerOptions, deps: QueueWorkerDeps) {
    this.#options = options
    this.#deps = deps
    // It gives a signal only to a function that takes three arguments.
    const process = (job: Job, token: string | undefined, signal: AbortSignal | undefined) =>
      this.#process(job, token, signal)
    this.#worker = new Worker(options.queue.name, process, {
      connection: deps.client,
      prefix: queuePrefix(options.keyPrefix),
      concurrency: options.places,
      lockDuration: options.lockMs,
      stalledInterval: options.lockMs,
      maxStalledCount: mostStalls,
      drainDelay: blockSeconds,
      runRetryDelay: 1_000,
      skipVersionCheck: true,
      // Also of jobs that were added by others, without the options of ours.
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
      autorun: false,
    })
    this.#worker.on('error', (error) => this.#failed(error))
    this.#worker.on('lockRenewalFailed', (ids) => {
      for (const id of ids) this.#worker.cancelJob(id, 'the lock was lost')
    })
    this.#worker.on('completed', (job, outcome: Outcome) => {
      if (!this.#stopping.signal.aborted) void deps.ended?.(job, outcome).catch(deps.voice)
    })
  }

  start(): void {
    this.#worker.run().catch(this.#deps.voice)
  }

  /** False where jobs wait, places are free, and none was taken since the last look. Rejects while Redis is away. */
  async isTurning(): Promise<boolean> {
    const hasTaken = this.#taken > this.#takenBefore
    this.#takenBefore = this.#taken
    if (hasTaken || this.#running >= this.#options.places) return true
    return (await this.#options.queue.getWaitingCount()) === 0
  }

  /** Gives back what is being worked on. Resolves within seconds. */
  async stop(): Promise<void> {
    this.#stopping.abort(cancelled())
    const closed = this.#worker.close()
    this.#worker.cancelAllJobs('the worker stops')
    await within(graceMs + closeMs, closed, this.#deps.clock).catch(() => undefined)
  }

  async #process(job: Job, token: string | undefined, given: AbortSignal | undefined): Promise<Outcome> {
    const signal = given ?? this.#stopping.signal
    this.#taken++
    this.#running++
    try {
      const work = this.#deps.work(job, signal)
      const outcome = await orAborted(work, signal, { ms: graceMs, clock: this.#deps.clock })
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
    // Another worker has the job by now; its signal was told.
    if (this.#stopping.signal.aborted || isLostLock(thrown)) return
    this.#deps.voice(thrown)
    if (!this.#worker.isPaused()) void this.#rest()
  }

  async #rest(): Promise<void> {
    await this.#worker.pause(true)
    await this.#deps.clock.sleep(pauseMs, this.#stopping.signal).catch(() => undefined)
    if (!this.#stopping.signal.aborted) await this.#worker.resume()
  }
}

function isLostLock(error: unknown): boolean {
  return /could not renew lock|Missing (?:lock|key)|Lock mismatch|not in (?:the )?active/i.test(
    messageOf(error),
  )
}
