import type { Job } from 'bullmq'
import { Failure } from '../../domain/failure.ts'
import { troubleOf, type PlannedStream } from '../../domain/plan/plan.ts'
import { retryWhileHeld } from '../../domain/retry.ts'
import { streamKey, type Priority, type Stream } from '../../domain/stream.ts'
import type { TraceCarrier } from '../../ports/process.ts'
import { Rests, type ScheduleDeps } from '../pumping.ts'
import type { JobOutcome } from './queue-worker.ts'
import { readJob, type QueuedJob } from './queues.ts'

export interface PumpJobsDeps extends Pick<ScheduleDeps, 'clock' | 'telemetry' | 'pump' | 'now'> {
  /** One stream by the present state of the store; undefined where this configuration does not plan it. */
  readonly planned: (stream: Stream, priority: Priority) => Promise<PlannedStream | undefined>
  /** Commits a failure for a pump whose process died, so that the stream backs off. Throws Failure. */
  readonly fail: (planned: PlannedStream, failure: Failure) => Promise<void>
  readonly tracing?: Tracing
}

/** Carries a trace over the queue. Neither may throw. */
interface Tracing {
  /** The headers that the current trace would send with a request; empty without one. */
  readonly inject: () => TraceCarrier
  /** Runs the work as a part of the trace that sent these headers. */
  readonly within: <T>(carrier: TraceCarrier, work: () => Promise<T>) => Promise<T>
}

/** After one crash another worker takes the stream over at once; after the next one the stream backs off. */
const mostCrashes = 1
/** By then a dead worker's hold on a stream has expired. */
const holdEndsMs = 25_000
const askAgainMs = 1_000
/** One text for all streams, so that it is logged once. */
const unplanned =
  'this process drops jobs of streams that it does not plan; give all processes the same configuration and the right time'

/** Turns a job into one pump over its stream. */
export class PumpJobs {
  readonly #deps: PumpJobsDeps
  readonly #rests: Rests
  readonly #running = new Set<string>()

  constructor(deps: PumpJobsDeps) {
    this.#deps = deps
    this.#rests = new Rests(deps)
  }

  async work(
    priority: Priority,
    { id, data, stalledCounter }: Job,
    signal: AbortSignal,
  ): Promise<JobOutcome> {
    const job = readJob(id, data)
    if (job === undefined) {
      this.#warn(
        'dropped a job whose id is no stream; check that no other program uses this Redis with the same keyPrefix',
      )
      return 'done'
    }
    const { tracing } = this.#deps
    const work = () => this.#workOn(job, priority, stalledCounter, signal)
    return tracing === undefined || job.trace === undefined ? work() : tracing.within(job.trace, work)
  }

  async #workOn(
    job: QueuedJob,
    priority: Priority,
    crashes: number,
    signal: AbortSignal,
  ): Promise<JobOutcome> {
    const key = streamKey(job.stream)
    const resting = { stream: job.stream, priority }
    // Two jobs of one stream meet after a lock expired, or at both priorities: the next tick queues the stream again.
    if (this.#running.has(key) || this.#rests.has(resting)) return 'done'
    this.#running.add(key)
    try {
      return await this.#pumpIfDue(job, priority, crashes, signal)
    } catch (error) {
      if (!signal.aborted) this.#rests.begin(resting, error)
      return 'done'
    } finally {
      this.#running.delete(key)
    }
  }

  /** Checks first whether the stream is still due: the job may be late, or another one of the stream came first. */
  async #pumpIfDue(
    { stream, isAnew }: QueuedJob,
    priority: Priority,
    crashes: number,
    signal: AbortSignal,
  ): Promise<JobOutcome> {
    const { now } = this.#deps
    const planned = await this.#deps.planned(stream, priority)
    if (planned === undefined) {
      // A backfill may have been paused or cancelled meanwhile.
      if (priority === 'live') this.#warn(unplanned)
      return 'done'
    }
    const dueAtMs = isAnew === true ? planned.wantedAtMs : planned.dueAtMs
    if (dueAtMs > now(planned)) return 'done'
    const isGood = await this.#pump(planned, crashes, signal)
    if (!isGood || signal.aborted) return 'done'
    const after = await this.#deps.planned(stream, priority)
    return after === undefined || after.dueAtMs > now(after) ? 'done' : 'more'
  }

  /** False when the stream failed. */
  async #pump(planned: PlannedStream, crashes: number, signal: AbortSignal): Promise<boolean> {
    const { pump, fail } = this.#deps
    if (crashes === 0) return (await pump(planned, signal)) === undefined
    const hasCrashed = troubleOf(planned, planned.checkpoint)?.code === 'crashed'
    if (crashes <= (hasCrashed ? 0 : mostCrashes))
      return this.#afterHold(async () => (await pump(planned, signal)) === undefined, signal)
    const why = 'several processes that worked on it died or lost their connection to Redis'
    await this.#afterHold(() => fail(planned, new Failure('refuse', 'crashed', why)), signal)
    return false
  }

  /** Waits until the store drops the dead worker's hold, rather than giving the job up: its stalls are counted. */
  #afterHold<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { clock } = this.#deps
    const patience = { patienceMs: holdEndsMs, everyMs: askAgainMs, codes: ['held'] } as const
    return retryWhileHeld(work, { clock, ...patience }, signal)
  }

  #warn(text: string): void {
    this.#deps.telemetry.emit({ name: 'Warned', about: 'queue', text })
  }
}
