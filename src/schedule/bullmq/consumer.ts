import { randomUUID } from 'node:crypto'
import { Worker, type Job } from 'bullmq'
import { cancelled } from '../../domain/failure.ts'
import type { Clock } from '../../ports/clock.ts'
import type { RedisClient } from '../../redis/connection.ts'
import { within } from '../../domain/within.ts'
import { createHeldJobs, type Ending, type HeldJob } from './held-jobs.ts'
import type { Voice } from './voice.ts'

export interface ConsumerOptions {
  readonly queue: string
  readonly prefix: string
  /** Jobs worked on at once. */
  readonly slots: number
  readonly lockMs: number
  /** How often somebody looks for jobs whose worker died. */
  readonly stalledCheckMs: number
}

export interface Ended {
  readonly as: Ending
  /** Called when the job has ended in Redis too. */
  readonly afterwards?: () => Promise<void>
}

/** Which job may be taken now: the next one, once there is one; the one at the front of the queue; or none. */
export type Choice = 'next' | 'next at hand' | 'none'

export interface ConsumerDeps {
  readonly clock: Clock
  readonly voice: Voice
  /** Waits for ever while Redis is away. Stays open. */
  readonly client: RedisClient
  /** Whether Redis answers, in bounded time. */
  readonly answers: () => Promise<boolean>
  /** Must end soon when the signal aborts. May throw; the job has then ended. */
  readonly work: (data: unknown, signal: AbortSignal) => Promise<Ended>
  /** Asked before each job, and several times a second while there is `none`. May throw. Absent: always the next. */
  readonly choose?: () => Promise<Choice>
  /** Called while the loop turns, or waits for nothing but Redis. */
  readonly turned: () => void
}

export interface Consumer {
  start(): void
  /** Gives back what does not end in time. Resolves within `graceMs` and a second. Safe twice and before `start`. */
  stop(graceMs: number): Promise<void>
}

const idleMs = 250
/** A wait for a job is at most this long, in seconds. */
const blockSeconds = 5
/** The queue's own waits end within about twelve seconds: one that lasts longer, while Redis answers, has got stuck. */
const stuckMs = 20_000
const lookAgainMs = 5_000
const firstBackoffMs = 250
const longestBackoffMs = 5_000
const giveBackMs = 400

/**
 * Takes jobs of one queue and works on them. The queue's own worker loop is not used: it spins where Redis is full, its
 * closing waits for ever for work that hangs, and nobody can see whether it turns.
 */
export function createConsumer(options: ConsumerOptions, deps: ConsumerDeps): Consumer {
  const { clock, voice } = deps
  const stopping = new AbortController()
  const ended = new AbortController()
  let worker: Worker | undefined
  const held = createHeldJobs({ clock, voice, lockMs: options.lockMs, worker: () => worker! })
  const working = new Set<Promise<void>>()
  let freed = Promise.withResolvers<void>()
  let loops: Promise<unknown> | undefined
  let troubles = 0

  function openWorker(): Worker {
    const opened = new Worker(options.queue, null, {
      connection: deps.client,
      prefix: options.prefix,
      lockDuration: options.lockMs,
      stalledInterval: options.stalledCheckMs,
      // A stream must never be given up because its workers died.
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      drainDelay: blockSeconds,
      runRetryDelay: 1_000,
      // Also of jobs that were added by others, without the options of ours.
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
      autorun: false,
    })
    opened.on('error', (error) => {
      troubles++
      voice(error)
    })
    void opened.startStalledCheckTimer()
    return opened
  }

  async function next(token: string, block: boolean): Promise<Job | undefined> {
    const from = worker!
    const asked = from.getNextJob(token, { block })
    let isStuck = false
    for (let patienceMs = stuckMs; ; patienceMs = lookAgainMs) {
      const answer = await within(patienceMs, asked, clock)
      if (answer !== 'late') return answer.value
      // While Redis is away there is nothing to turn for, and a restart of this process would not help. When it has
      // just come back, the queue's own connections may need a moment.
      const isHere = await deps.answers()
      if (isHere && isStuck) break
      isStuck = isHere
      if (!isHere) deps.turned()
    }
    worker = openWorker()
    void from.close(true).catch(voice)
    void asked.then((job) => job?.moveToWait(token)).catch(() => undefined)
    throw new Error(`taking jobs of the queue ${options.queue} got stuck; it was begun anew`)
  }

  async function take(): Promise<void> {
    let backoffMs = firstBackoffMs
    let quickly = 0
    while (!stopping.signal.aborted) {
      deps.turned()
      const token = randomUUID()
      const beganMs = clock.monotonic()
      const troublesBefore = troubles
      try {
        const choice = working.size < options.slots ? ((await deps.choose?.()) ?? 'next') : 'none'
        if (choice === 'none') {
          await Promise.race([freed.promise, clock.sleep(idleMs, stopping.signal).catch(() => undefined)])
          continue
        }
        const job = await next(token, choice === 'next')
        if (job !== undefined) begin(held.hold(job, token))
        if (job !== undefined) quickly = 0
        else quickly = clock.monotonic() - beganMs < idleMs ? quickly + 1 : 0
        if (troubles === troublesBefore) backoffMs = firstBackoffMs
      } catch (error) {
        troubles++
        voice(error)
      }
      // What failed, or came back with nothing and without having waited, is not asked again at once.
      const failed = troubles > troublesBefore
      if (failed || quickly > 3)
        await clock.sleep(failed ? backoffMs : idleMs, stopping.signal).catch(() => undefined)
      if (failed) backoffMs = Math.min(longestBackoffMs, backoffMs * 2)
    }
  }

  function begin(job: HeldJob): void {
    const work = workOn(job).finally(() => {
      working.delete(work)
      freed.resolve()
      freed = Promise.withResolvers()
    })
    working.add(work)
  }

  async function workOn(job: HeldJob): Promise<void> {
    let ended: Ended = { as: 'given back' }
    try {
      if (!stopping.signal.aborted)
        ended = await deps.work(job.job.data, AbortSignal.any([stopping.signal, job.signal]))
    } catch (error) {
      voice(error)
      ended = { as: 'done' }
    }
    await held.end(job, ended.as)
    await ended.afterwards?.().catch(voice)
  }

  return {
    start() {
      if (loops !== undefined || stopping.signal.aborted) return
      worker = openWorker()
      loops = Promise.all([take(), held.keep(ended.signal)])
    },
    async stop(graceMs) {
      stopping.abort(cancelled())
      if (worker === undefined) return
      // Ends the wait for a job; the shared connection stays, since jobs are still to be given back over it.
      void worker.close(true).catch(voice)
      await within(graceMs, Promise.all(working), clock)
      const left = held.all()
      await within(giveBackMs, Promise.all(left.map((job) => held.end(job, 'given back'))), clock)
      ended.abort()
      await within(giveBackMs, Promise.all([loops, ...working]), clock)
    },
  }
}
