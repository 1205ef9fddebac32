import { cancelled } from '../../domain/failure.ts'
import type { StateSnapshot } from '../../domain/plan/snapshot.ts'
import { within } from '../../domain/promises.ts'
import type { Schedule } from '../../ports/process.ts'
import { connectRedis, type RedisClient, type RedisServers } from '../../redis/connection.ts'
import { promptly } from '../../redis/script.ts'
import { nameOf } from '../../redis/server-name.ts'
import { housekeepMs, oftenMs, priorities, repeat, sharesOf, type ScheduleDeps } from '../pumping.ts'
import { PumpJobs, type PumpJobsDeps } from './pump-jobs.ts'
import { createErrorReport, QueueWorker, type QueueWorkerOptions, type ReportError } from './queue-worker.ts'
import { Queues, readJob } from './queues.ts'
import { createTick } from './ticks.ts'

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
  /** Removes what sinks hold beyond the last commit; called every few seconds in the roles that pump. */
  readonly reconcile: (signal: AbortSignal) => Promise<void>
  /** Called while ticks and streams are taken from their queues, and while Redis is away. For `/healthz`. */
  readonly turned: (loop: 'tick' | 'worker') => void
}

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
    if (!this.#stopping.signal.aborted)
      this.#running ??= new Running(this.#options, this.#deps, this.#stopping.signal)
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
    this.#reportError = (error) => (signal.aborted ? undefined : report.reportError(error))
    const connect = (manner: 'prompt' | 'patient') =>
      connectRedis(connection, { manner, name: `${keyPrefix}:${role}` }, this.#reportError)
    this.#prompt = connect('prompt')
    this.#patient = connect('patient')
    this.queues = new Queues({ client: this.#prompt, keyPrefix, sinks, reportError: this.#reportError })
    this.#repeat(oftenMs, deps.heartbeat)
    if (role !== 'worker') this.#tick()
    if (role !== 'scheduler') this.#pump()
    for (const { worker } of this.#workers) worker.start()
    this.#repeat(oftenMs, () => this.#look())
    this.#repeat(oftenMs, async () => {
      await this.#prompt.ping()
      report.answered()
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
    const { housekeep, telemetry } = this.#deps
    const tick = createTick(this.queues, this.#options.sinks, this.#deps)
    this.#addWorker('tick', {
      queue: this.queues.tick,
      places: 1,
      async work() {
        await tick().catch((error: unknown) => telemetry.emit({ name: 'TickFailed', error }))
        return 'done'
      },
    })
    this.#repeat(oftenMs, () => this.queues.scheduleTicks(this.#options.tickMs))
    this.#repeat(housekeepMs, () => housekeep(this.#signal))
  }

  #pump(): void {
    const { streams, backfillStreams, sinks } = this.#options
    const jobs = new PumpJobs(this.#deps)
    const places = { live: streams, backfill: backfillStreams }
    for (const priority of priorities)
      for (const [sink, share] of sharesOf(places[priority], sinks))
        this.#addWorker('worker', {
          queue: this.queues.of(priority, sink),
          places: share,
          work: (job, signal) => jobs.work(priority, job, signal),
          // Behind the streams that already wait, but at once, not with the next tick.
          ended: async ({ id, data }, outcome) => {
            const job = readJob(id, data)
            if (job !== undefined && outcome === 'more')
              await this.queues.add(priority, sink, [{ stream: job.stream }], job.trace)
          },
        })
    this.#repeat(oftenMs, () => this.#deps.reconcile(this.#signal))
  }

  #addWorker(
    loop: 'tick' | 'worker',
    work: Pick<QueueWorkerOptions, 'queue' | 'places' | 'work' | 'ended'>,
  ): void {
    const { lockMs = defaultLockMs } = this.#options
    const { clock } = this.#deps
    const shared = { lockMs, clock, reportError: this.#reportError, client: this.#patient }
    this.#workers.push({ loop, worker: new QueueWorker({ ...shared, ...work }) })
  }

  /** A queue whose jobs no worker takes although Redis answers needs a restart; a Redis that is away does not. */
  async #look(): Promise<void> {
    for (const [loop, entries] of Map.groupBy(this.#workers, ({ loop }) => loop)) {
      const turning = await Promise.all(entries.map(({ worker }) => worker.isTurning().catch(() => true)))
      if (turning.every(Boolean)) this.#deps.turned(loop)
    }
  }

  #repeat(ms: number, step: () => Promise<unknown>): void {
    const deps = { clock: this.#deps.clock, failed: this.#reportError }
    this.#loops.push(repeat(ms, step, deps, this.#signal))
  }
}
