import { cancelled } from '../../domain/failure.ts'
import type { StateSnapshot } from '../../domain/plan/snapshot.ts'
import { within } from '../../domain/promises.ts'
import { onlyStream, type Priority } from '../../domain/stream.ts'
import type { Schedule } from '../../ports/process.ts'
import { connectRedis, type RedisClient, type RedisServers } from '../../redis/connection.ts'
import { promptly } from '../../redis/script.ts'
import { nameOf } from '../../redis/server-name.ts'
import { sharesOf, type ScheduleDeps } from '../pumping.ts'
import { PumpJobs, type PumpJobsDeps } from './pump-jobs.ts'
import { createErrorReport, QueueWorker, type ReportError } from './queue-worker.ts'
import { priorities, Queues, type JobData } from './queues.ts'
import { Ticks } from './ticks.ts'

export interface BullmqScheduleOptions {
  readonly connection: RedisServers
  readonly keyPrefix: string
  readonly role: 'all' | 'scheduler' | 'worker'
  /** All sinks of the configuration; each has its own queues. */
  readonly sinks: readonly string[]
  /** How many streams of each priority this process pumps at once; sinks share them evenly. */
  readonly streams: number
  readonly backfillStreams: number
  readonly tickMs: number
  /** After this time without a renewal another worker takes the job; stalls are looked for as often. Default 15 s. */
  readonly lockMs?: number
}

/** The roles `scheduler` and `all` call `plan` and `housekeep`, the roles `worker` and `all` call `pump`. */
export interface BullmqScheduleDeps extends ScheduleDeps, PumpJobsDeps {
  /** Sinks that the store knows and the configuration does not name: no worker takes their jobs any more. */
  readonly removedSinks: () => Promise<readonly string[]>
  /** Removes what sinks hold beyond the last commit; called every few seconds in the roles that pump. */
  readonly reconcile: (signal: AbortSignal) => Promise<void>
  /** Called while ticks and streams are taken from their queues, and while Redis is away. For `/healthz`. */
  readonly turned: (loop: 'tick' | 'worker') => void
}

const everyMs = 5_000
const housekeepMs = 600_000
const defaultLockMs = 15_000
/** Together with returning jobs that hang, this stays under the 5 s that a stop may take. */
const closeMs = 300

/** Runs ticks and streams as jobs in Redis, shared by any number of processes of any role. */
export class BullmqSchedule implements Schedule {
  readonly #options: BullmqScheduleOptions
  readonly #deps: BullmqScheduleDeps
  readonly #stopping = new AbortController()
  #running: Running | undefined
  #stopped: Promise<void> | undefined

  constructor(options: BullmqScheduleOptions, deps: BullmqScheduleDeps) {
    this.#options = options
    this.#deps = deps
  }

  async start(): Promise<void> {
    if (this.#running === undefined && !this.#stopping.signal.aborted)
      this.#running = new Running(this.#options, this.#deps, this.#stopping.signal)
  }

  stop(): Promise<void> {
    this.#stopping.abort(cancelled())
    this.#stopped ??= this.#running?.stop() ?? Promise.resolve()
    return this.#stopped
  }

  /** Numbers of waiting and running jobs, for metrics; empty before `start`. Rejects while Redis is away. */
  async queues(): Promise<StateSnapshot['queues']> {
    return this.#running === undefined ? [] : promptly(this.#running.queues.count(), this.#deps.clock)
  }
}

/** Connections, queues, workers and timers between start and stop. */
class Running {
  readonly queues: Queues
  readonly #options: BullmqScheduleOptions
  readonly #deps: BullmqScheduleDeps
  readonly #signal: AbortSignal
  readonly #reportError: ReportError
  readonly #answered: () => void
  /** Commands fail soon while Redis is away. */
  readonly #prompt: RedisClient
  /** Commands wait until it is back. */
  readonly #patient: RedisClient
  readonly #workers: { readonly loop: 'tick' | 'worker'; readonly worker: QueueWorker }[] = []
  readonly #loops: Promise<void>[] = []

  constructor(options: BullmqScheduleOptions, deps: BullmqScheduleDeps, signal: AbortSignal) {
    this.#options = options
    this.#deps = deps
    this.#signal = signal
    const { connection, keyPrefix, role, sinks } = options
    const report = createErrorReport({ ...deps, server: nameOf(connection) })
    this.#answered = report.answered
    this.#reportError = (error) => (signal.aborted ? undefined : report.reportError(error))
    const connect = (manner: 'prompt' | 'patient') =>
      connectRedis(connection, { manner, name: `${keyPrefix}:${role}` }, this.#reportError)
    this.#prompt = connect('prompt')
    this.#patient = connect('patient')
    this.queues = new Queues({ client: this.#prompt, keyPrefix, sinks, reportError: this.#reportError })
    this.#repeat(everyMs, deps.heartbeat)
    if (role !== 'worker') this.#tick()
    if (role !== 'scheduler') this.#pump()
    for (const { worker } of this.#workers) worker.start()
    this.#repeat(everyMs, () => this.#look())
    this.#repeat(everyMs, async () => {
      await this.#prompt.ping()
      this.#answered()
    })
  }

  async stop(): Promise<void> {
    await Promise.all(this.#workers.map(({ worker }) => worker.stop()))
    const { clock } = this.#deps
    await within(closeMs, Promise.all([...this.#loops, this.queues.close()]), clock).catch(() => undefined)
    this.#prompt.disconnect()
    this.#patient.disconnect()
  }

  #tick(): void {
    const { plan, housekeep, removedSinks, tracing } = this.#deps
    const trace = () => tracing?.inject()
    const ticks = new Ticks(this.#options.tickMs, {
      ...this.#deps,
      ...this.#options,
      queues: this.queues,
      plan,
      trace,
    })
    const worker = new QueueWorker(
      { ...this.#options, queue: this.queues.tick, places: 1, lockMs: this.#lockMs },
      {
        clock: this.#deps.clock,
        reportError: this.#reportError,
        client: this.#patient,
        work: async () => {
          await ticks
            .tick()
            .catch((error: unknown) => this.#deps.telemetry.emit({ name: 'TickFailed', error }))
          return 'done'
        },
      },
    )
    this.#workers.push({ loop: 'tick', worker })
    this.#repeat(everyMs, () => ticks.schedule())
    this.#repeat(housekeepMs, async () => {
      await this.queues.empty(await removedSinks())
      return housekeep(this.#signal)
    })
  }

  #pump(): void {
    const { streams, backfillStreams, sinks } = this.#options
    const jobs = new PumpJobs(this.#deps)
    const places = { live: streams, backfill: backfillStreams }
    for (const priority of priorities)
      for (const [sink, share] of sharesOf(places[priority], sinks))
        this.#pumpSink(jobs, priority, sink, share)
    this.#repeat(everyMs, () => this.#deps.reconcile(this.#signal))
  }

  #pumpSink(jobs: PumpJobs, priority: Priority, sink: string, places: number): void {
    const worker = new QueueWorker(
      { ...this.#options, queue: this.queues.of(priority, sink), places, lockMs: this.#lockMs },
      {
        clock: this.#deps.clock,
        reportError: this.#reportError,
        client: this.#patient,
        work: (job, signal) => jobs.work(priority, job, signal),
        // Behind the streams that already wait, but at once, not with the next tick.
        ended: async ({ data }, outcome) => {
          const job = data as JobData
          const stream = onlyStream({ ...job, sink })
          if (outcome === 'more')
            await this.queues.add(priority, sink, [{ stream, reason: 'more' }], job.trace)
        },
      },
    )
    this.#workers.push({ loop: 'worker', worker })
  }

  get #lockMs(): number {
    return this.#options.lockMs ?? defaultLockMs
  }

  /** A queue whose jobs no worker takes although Redis answers needs a restart; a Redis that is away does not. */
  async #look(): Promise<void> {
    for (const [loop, entries] of Map.groupBy(this.#workers, ({ loop }) => loop)) {
      const turning = await Promise.all(entries.map(({ worker }) => worker.isTurning().catch(() => true)))
      if (turning.every(Boolean)) this.#deps.turned(loop)
    }
  }

  /** A step that resolves with false is repeated soon. */
  #repeat(ms: number, step: () => Promise<unknown>): void {
    const turn = async () => {
      while (!this.#signal.aborted) {
        const isDone = await step().catch(this.#reportError)
        await this.#deps.clock.sleep(isDone === false ? everyMs : ms, this.#signal).catch(() => undefined)
      }
    }
    this.#loops.push(turn())
  }
}
