import type { Role, Schedule, TraceCarrier } from '../../ports/process.ts'
import type { Job } from 'bullmq'
import { cancelled, Failure } from '../../domain/failure.ts'
import { troubleOf, type PlannedStream } from '../../domain/plan/plan.ts'
import { repeat, within } from '../../domain/promises.ts'
import { nameOf, type RedisServers } from '../../domain/redis-servers.ts'
import { retryWhileHeld } from '../../domain/retry.ts'
import { streamKey, type Priority, type Stream } from '../../domain/stream.ts'
import { connectRedis } from '../../redis/connection.ts'
import { redisFailureIn } from '../../redis/redis-failure.ts'
import { housekeepMs, oftenMs, restAfterMs, sharesOf, type ScheduleDeps } from '../pumping.ts'
import { createRests, createRetries } from '../retries.ts'
import { startQueueWorker, type JobOutcome } from './queue-worker.ts'
import { addJobs, openQueues, streamOfJob, type Queues } from './queues.ts'

export interface BullmqScheduleOptions {
  readonly connection: RedisServers
  readonly role: Role
  /** All sinks of the configuration; each has its own queues. */
  readonly sinks: readonly string[]
  readonly tickMs: number
  /** After this time without a renewal another worker takes the job; stalls are looked for as often. Default 15 s. */
  readonly lockMs?: number
}

type QueueWorker = ReturnType<typeof startQueueWorker>

const defaultLockMs = 15_000
/** Together with returning jobs that hang, this stays under the 5 s that a stop may take. */
const closeMs = 300
/** BullMQ keeps a command while Redis is away. */
const countMs = 3_000

/**
 * Runs ticks and streams as jobs in Redis, shared by any number of processes of any role. The roles `scheduler` and `all`
 * call `plan` and `housekeep`, the roles `worker` and `all` call `pump` and, every few seconds, `reconcile`.
 */
export function startBullmqSchedule(options: BullmqScheduleOptions, deps: ScheduleDeps): Required<Schedule> {
  const { connection, role, sinks, lockMs = defaultLockMs } = options
  const { keyPrefix } = connection
  const { clock, places, telemetry } = deps
  const stopping = new AbortController()
  const { signal } = stopping
  const server = nameOf(connection)
  const report = createErrorReport(deps, server)
  const reportError = (error: unknown): void => (signal.aborted ? undefined : report.reportError(error))
  const connect = (manner: 'prompt' | 'patient') =>
    connectRedis(connection, { manner, name: `${keyPrefix}:${role}` }, reportError)
  // Commands of the one fail soon while Redis is away, those of the other wait until it is back.
  const [prompt, patient] = [connect('prompt'), connect('patient')]
  const queues = openQueues({ client: prompt, keyPrefix, sinks, reportError })
  const loops: Promise<void>[] = []
  const every = (ms: number, step: () => Promise<unknown>): void =>
    void loops.push(repeat(ms, step, { clock, failed: reportError }, signal))
  const workers = { tick: [] as QueueWorker[], worker: [] as QueueWorker[] }
  const shared = { lockMs, clock, reportError, client: patient }

  function tick(): void {
    const plan = createTick(queues, deps)
    const work = async () => {
      await plan().catch((thrown: unknown) => {
        telemetry.emit({ name: 'TickFailed', error: redisFailureIn(thrown, server) })
      })
      return 'done' as const
    }
    workers.tick.push(startQueueWorker({ ...shared, queue: queues.tick, places: 1, work }))
    // One that is written again keeps its pace, while a `pattern` may drop an iteration. Redis may have been emptied.
    const ticks = { every: Math.ceil(options.tickMs) }
    every(oftenMs, () => queues.tick.upsertJobScheduler('tick', ticks, { name: 'tick' }))
    every(housekeepMs, () => deps.housekeep(signal))
  }

  function pump(): void {
    const workOn = createPumpJobs(deps)
    for (const own of queues.ofStreams) {
      const { priority, sink, queue } = own
      workers.worker.push(
        startQueueWorker({
          ...shared,
          queue,
          places: sharesOf(places[priority], sinks).get(sink)!,
          work: (job, ending) => workOn(priority, job, ending),
          // Behind the streams that already wait, but at once, not with the next tick.
          again: ({ id, data }) => addJobs(own, [{ stream: streamOfJob(id)! }], dataOf(data).trace),
        }),
      )
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
  every(oftenMs, look)
  every(oftenMs, async () => {
    await prompt.ping()
    report.answered()
  })
  return {
    async stop() {
      stopping.abort(cancelled())
      await Promise.all([...workers.tick, ...workers.worker].map((worker) => worker.stop()))
      await within(closeMs, Promise.all([...loops, queues.close()]), clock).catch(() => undefined)
      prompt.disconnect()
      patient.disconnect()
    },
    async queues() {
      const counted = await within(countMs, queues.count(), clock)
      if (counted !== 'late') return counted.value
      throw new Failure('retry', 'store_unavailable', `Redis has not answered for ${countMs / 1_000} s`)
    },
  }
}

/** Plans, and queues what is due. A late or doubled tick is harmless: the plan depends on checkpoints only. */
function createTick({ ofStreams }: Queues, { clock, plan, now, tracing }: ScheduleDeps): () => Promise<void> {
  let restUntilMs = -Infinity
  const retries = createRetries()

  return async () => {
    const beganMs = clock.monotonic()
    if (beganMs < restUntilMs) return
    const planned = await tracing.tick(plan)
    const plannedMs = clock.monotonic()
    restUntilMs = plannedMs + restAfterMs(plannedMs - beganMs)
    retries.planned(planned)
    const due = planned.filter((each) => retries.dueAtMs(each) <= now(each))
    const byQueue = Map.groupBy(due, ({ priority, stream }) => `${priority} ${stream.sink}`)
    const live = new Set(
      due.filter(({ priority }) => priority === 'live').map(({ stream }) => streamKey(stream)),
    )
    const carrier = due.length === 0 ? undefined : tracing.inject()
    for (const own of ofStreams) {
      const { priority, sink, queue } = own
      const mine = byQueue.get(`${priority} ${sink}`)
      if (mine === undefined) continue
      const queued = new Set(await queue.getRanges(['wait', 'active']))
      // One pump at a time works on a stream, at one priority; live comes before backfill.
      const isFree = (key: string) => !queued.has(key) && (priority === 'live' || !live.has(key))
      const added = mine.filter(({ stream }) => isFree(streamKey(stream)))
      const jobs = added.map((each) => ({ stream: each.stream, isAnew: each.dueAtMs > now(each) }))
      await addJobs(own, jobs, carrier)
      for (const { stream } of mine) retries.tried(stream)
    }
  }
}

/** After one crash another worker takes the stream over at once; after the next one the stream backs off. */
const mostCrashes = 1
/** By then a dead worker's hold on a stream has expired. */
const holdEndsMs = 25_000
const askAgainMs = 1_000
// One text for all streams, so that each is logged once.
const foreign =
  'dropped a job whose id is no stream; check that no other program uses this Redis with the same keyPrefix'
const unplanned =
  'this process drops jobs of streams that it does not plan; give all processes the same configuration and the right time'

/** Turns a job into one pump over its stream. */
function createPumpJobs(deps: ScheduleDeps) {
  const { clock, telemetry, now, tracing } = deps
  const rests = createRests(deps)
  const running = new Set<string>()
  const warn = (text: string) => telemetry.emit({ name: 'Warned', about: 'queue', text })

  /** False when the stream failed. */
  async function pump(planned: PlannedStream, crashes: number, signal: AbortSignal): Promise<boolean> {
    const isGood = async () => (await deps.pump(planned, signal)) === undefined
    if (crashes === 0) return isGood()
    // Waits until the store drops the dead worker's hold, rather than giving the job up: its stalls are counted.
    const patience = { clock, patienceMs: holdEndsMs, everyMs: askAgainMs, codes: ['held'] } as const
    const hasCrashed = troubleOf(planned, planned.checkpoint)?.code === 'crashed'
    if (crashes <= (hasCrashed ? 0 : mostCrashes)) return retryWhileHeld(isGood, patience, signal)
    const why = 'several processes that worked on it died or lost their connection to Redis'
    const failure = new Failure('refuse', 'crashed', why)
    await retryWhileHeld(() => deps.fail(planned, failure), patience, signal)
    return false
  }

  /** Checks first whether the stream is still due: the job may be late, or another one of the stream came first. */
  async function pumpIfDue(
    stream: Stream,
    priority: Priority,
    { data, stalledCounter }: Job,
    signal: AbortSignal,
  ): Promise<JobOutcome> {
    const planned = await deps.planned(stream, priority)
    if (planned === undefined) {
      // A backfill may have been paused or cancelled meanwhile.
      if (priority === 'live') warn(unplanned)
      return 'done'
    }
    const { isAnew } = dataOf(data)
    if ((isAnew === true ? planned.wantedAtMs : planned.dueAtMs) > now(planned)) return 'done'
    const isGood = await pump(planned, stalledCounter, signal)
    if (!isGood || signal.aborted) return 'done'
    const after = await deps.planned(stream, priority)
    return after === undefined || after.dueAtMs > now(after) ? 'done' : 'more'
  }

  return async (priority: Priority, job: Job, signal: AbortSignal): Promise<JobOutcome> => {
    const stream = streamOfJob(job.id)
    if (stream === undefined) {
      warn(foreign)
      return 'done'
    }
    const key = streamKey(stream)
    // Two jobs of one stream meet after a lock expired, or at both priorities: the next tick queues the stream again.
    if (running.has(key) || rests.has(stream, priority)) return 'done'
    running.add(key)
    try {
      const { trace = {} } = dataOf(job.data)
      return await tracing.within(trace, () => pumpIfDue(stream, priority, job, signal))
    } catch (error) {
      if (!signal.aborted) rests.begin(stream, priority, error)
      return 'done'
    } finally {
      running.delete(key)
    }
  }
}

/** An eviction policy may have removed it. */
function dataOf(data: unknown): { readonly isAnew?: boolean; readonly trace?: TraceCarrier } {
  return data ?? {}
}

const silenceMs = 5_000
/** A Redis that is full or a replica answers, and refuses writes: something writes at least every five seconds. */
const calmMs = 10_000

/** Connections repeat an error several times a second: one error in 5 s is reported, and the end of the trouble. */
export function createErrorReport(
  { clock, telemetry }: Pick<ScheduleDeps, 'clock' | 'telemetry'>,
  server: string,
) {
  let reportedAtMs = -Infinity
  /** Of the latest error; undefined while all is well. */
  let failedAtMs: number | undefined
  return {
    /** Never throws. */
    reportError(thrown: unknown): void {
      failedAtMs = clock.monotonic()
      if (failedAtMs - reportedAtMs < silenceMs) return
      reportedAtMs = failedAtMs
      telemetry.emit({ name: 'QueueFailed', error: redisFailureIn(thrown, server) })
    },
    /** Redis has answered just now. The trouble has ended once no error came for a while. */
    answered(): void {
      if (failedAtMs === undefined || clock.monotonic() - failedAtMs < calmMs) return
      failedAtMs = undefined
      telemetry.emit({ name: 'QueueRecovered' })
    },
  }
}
