import { cancelled } from '../../domain/failure.ts'
import type { Observation } from '../../domain/status/observation.ts'
import { within } from '../../domain/promises.ts'
import type { Schedule } from '../../ports/process.ts'
import { nameOf, type RedisServers } from '../../domain/redis-servers.ts'
import { connectRedis } from '../../redis/connection.ts'
import { redisFailureIn } from '../../redis/redis-failure.ts'
import { promptly } from '../../redis/script.ts'
import {
  housekeepMs,
  oftenMs,
  priorities,
  repeat,
  sharesOf,
  type ScheduleDeps,
  DueTimes,
  restAfterMs,
} from '../pumping.ts'
import { createPumpJobs } from './pump-jobs.ts'
import { createErrorReport, QueueWorker, type QueueWorkerOptions, type ReportError } from './queue-worker.ts'
import { Queues, readJob } from './queues.ts'
import { streamKey } from '../../domain/stream.ts'

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

const defaultLockMs = 15_000
/** Together with returning jobs that hang, this stays under the 5 s that a stop may take. */
const closeMs = 300

/**
 * Runs ticks and streams as jobs in Redis, shared by any number of processes of any role. The roles `scheduler` and `all`
 * call `plan` and `housekeep`, the roles `worker` and `all` call `pump` and, every few seconds, `reconcile`.
 */
export class BullmqSchedule implements Schedule {
  readonly #options: BullmqScheduleOptions
  readonly #deps: ScheduleDeps
  readonly #stopping = new AbortController()
  #running: ReturnType<typeof run> | undefined
  #stopped: Promise<void> | undefined

  constructor(options: BullmqScheduleOptions, deps: ScheduleDeps) {
    this.#options = options
    this.#deps = deps
  }

  async start(): Promise<void> {
    if (!this.#stopping.signal.aborted)
      this.#running ??= run(this.#options, this.#deps, this.#stopping.signal)
  }

  stop(): Promise<void> {
    this.#stopping.abort(cancelled())
    this.#stopped ??= this.#running?.stop() ?? Promise.resolve()
    return this.#stopped
  }

  /** Numbers of waiting and running jobs, for metrics; empty before `start`. Rejects while Redis is away. */
  async queues(): Promise<Observation['queues']> {
    return this.#running === undefined ? [] : promptly(this.#running.queues.count(), this.#deps.clock)
  }
}

/** Opens connections and queues, and starts workers and timers; `signal` ends the timers. */
function run(options: BullmqScheduleOptions, deps: ScheduleDeps, signal: AbortSignal) {
  const { connection, keyPrefix, role, sinks, lockMs = defaultLockMs } = options
  const { clock, telemetry } = deps
  const server = nameOf(connection)
  const report = createErrorReport({ clock, telemetry, server })
  const reportError: ReportError = (error) => (signal.aborted ? undefined : report.reportError(error))
  const connect = (manner: 'prompt' | 'patient') =>
    connectRedis(connection, { manner, name: `${keyPrefix}:${role}` }, reportError)
  // Commands of the one fail soon while Redis is away, those of the other wait until it is back.
  const [prompt, patient] = [connect('prompt'), connect('patient')]
  const queues = new Queues({ client: prompt, keyPrefix, sinks, reportError })
  const loops: Promise<void>[] = []
  const every = (ms: number, step: () => Promise<unknown>): void =>
    void loops.push(repeat(ms, step, { clock, failed: reportError }, signal))
  const workers = { tick: [] as QueueWorker[], worker: [] as QueueWorker[] }
  const shared = { lockMs, clock, reportError, client: patient }

  function tick(): void {
    const plan = createTick(queues, sinks, deps)
    const work = async () => {
      await plan().catch((thrown: unknown) => {
        telemetry.emit({ name: 'TickFailed', error: redisFailureIn(thrown, server) })
      })
      return 'done' as const
    }
    workers.tick.push(new QueueWorker({ ...shared, queue: queues.tick, places: 1, work }))
    every(oftenMs, () => queues.scheduleTicks(options.tickMs))
    every(housekeepMs, () => deps.housekeep(signal))
  }

  function pump(): void {
    const workOn = createPumpJobs(deps)
    const places = { live: options.streams, backfill: options.backfillStreams }
    for (const priority of priorities)
      for (const [sink, share] of sharesOf(places[priority], sinks)) {
        const own = { queue: queues.of(priority, sink), places: share }
        const work: QueueWorkerOptions['work'] = (job, ending) => workOn(priority, job, ending)
        // Behind the streams that already wait, but at once, not with the next tick.
        const ended: QueueWorkerOptions['ended'] = async ({ id, data }, outcome) => {
          const job = readJob(id, data)
          if (job !== undefined && outcome === 'more')
            await queues.add(priority, sink, [{ stream: job.stream }], job.trace)
        }
        workers.worker.push(new QueueWorker({ ...shared, ...own, work, ended }))
      }
    every(oftenMs, () => deps.reconcile(signal))
  }

  /** A queue whose jobs no worker takes although Redis answers needs a restart; a Redis that is away does not. */
  async function look(): Promise<void> {
    for (const loop of ['tick', 'worker'] as const) {
      const turning = await Promise.all(workers[loop].map((each) => each.isTurning().catch(() => true)))
      if (turning.length > 0 && turning.every(Boolean)) deps.turned(loop)
    }
  }

  every(oftenMs, deps.heartbeat)
  if (role !== 'worker') tick()
  if (role !== 'scheduler') pump()
  const all = [...workers.tick, ...workers.worker]
  for (const worker of all) worker.start()
  every(oftenMs, look)
  every(oftenMs, async () => {
    await prompt.ping()
    report.answered()
  })
  return {
    queues,
    async stop() {
      await Promise.all(all.map((worker) => worker.stop()))
      await within(closeMs, Promise.all([...loops, queues.close()]), clock).catch(() => undefined)
      prompt.disconnect()
      patient.disconnect()
    },
  }
}

/** Plans, and queues what is due. A late or doubled tick is harmless: the plan depends on checkpoints only. */
function createTick(
  queues: Queues,
  sinks: readonly string[],
  { clock, plan, now, tracing }: ScheduleDeps,
): () => Promise<void> {
  const dueTimes = new DueTimes()
  let restUntilMs = -Infinity

  return async () => {
    const beganMs = clock.monotonic()
    if (beganMs < restUntilMs) return
    const planned = await tracing.tick(plan)
    const plannedMs = clock.monotonic()
    restUntilMs = plannedMs + restAfterMs(plannedMs - beganMs)
    const bySink = await Promise.all(
      sinks.map(async (sink) => {
        const [live, backfill] = await Promise.all(priorities.map((priority) => queues.idsOf(priority, sink)))
        return { sink, queued: { live: live!, backfill: backfill! } }
      }),
    )
    const due = planned.filter((each) => {
      const nowMs = now(each)
      // Never due before it is wanted: most streams are left at that.
      return each.wantedAtMs <= nowMs && dueTimes.atMs(each) <= nowMs
    })
    const live = new Set(
      due.filter((each) => each.priority === 'live').map(({ stream }) => streamKey(stream)),
    )
    const carrier = due.length === 0 ? undefined : tracing.inject()
    for (const { sink, queued } of bySink)
      for (const priority of priorities) {
        // One pump at a time works on a stream, at one priority; live comes before backfill.
        const isFree = (key: string) => !queued[priority].has(key) && (priority === 'live' || !live.has(key))
        const mine = due.filter(({ priority: own, stream }) => own === priority && stream.sink === sink)
        const added = mine.flatMap((each) => {
          const { stream, dueAtMs } = each
          return isFree(streamKey(stream)) ? [{ stream, isAnew: dueAtMs > now(each) }] : []
        })
        await queues.add(priority, sink, added, carrier)
      }
    dueTimes.forgetUnplanned(planned)
    for (const each of planned) dueTimes.tried(each)
  }
}
