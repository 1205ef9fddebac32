import type { Job } from 'bullmq'
import { Failure } from '../../domain/failure.ts'
import { troubleOf, type PlannedStream } from '../../domain/plan/plan.ts'
import { retryWhileHeld } from '../../domain/retry.ts'
import { streamKey, type Priority, type Stream } from '../../domain/stream.ts'
import type { TraceCarrier } from '../../ports/process.ts'
import { Rests, type ScheduleDeps } from '../pumping.ts'
import type { JobOutcome } from './queue-worker.ts'
import { streamOfJob } from './queues.ts'

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
export function createPumpJobs(deps: ScheduleDeps) {
  const { clock, telemetry, now, tracing } = deps
  const rests = new Rests(deps)
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
export function dataOf(data: unknown): { readonly isAnew?: boolean; readonly trace?: TraceCarrier } {
  return data ?? {}
}
