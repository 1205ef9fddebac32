import { isFailure, type Failure } from '../../domain/failure.ts'
import type { PlannedStream } from '../../domain/plan.ts'
import { streamKey, type Lane, type Stream } from '../../domain/stream.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Telemetry } from '../../ports/telemetry.ts'
import type { SinkPulse } from '../sink-pulse.ts'
import type { Ended } from './consumer.ts'
import { readJobData, type JobData, type TraceCarrier } from './job-data.ts'
import type { Queued } from './queues.ts'

/** Carries a trace over the queue. Neither may throw. */
export interface Tracing {
  /** What the trace that is under way would send with a request; empty without one. */
  readonly inject: () => TraceCarrier
  /** Runs the work as a part of the trace that sent this. */
  readonly within: <T>(carrier: TraceCarrier, work: () => Promise<T>) => Promise<T>
}

export interface PumpJobsDeps {
  readonly clock: Clock
  readonly telemetry: Telemetry
  /** One stream as it stands in the store now; undefined where this configuration does not plan it. */
  readonly planned: (stream: Stream, lane: Lane) => Promise<PlannedStream | undefined>
  readonly pump: (
    planned: PlannedStream,
    mayGoOn: () => boolean,
    signal: AbortSignal,
  ) => Promise<Failure | undefined>
  readonly now: (planned: PlannedStream) => number
  /** Whether a backfill may start, or go on with its next page. */
  readonly mayBackfill: (planned: PlannedStream) => boolean
  /** Whether the sink of a stream has a place left in that lane. */
  readonly hasPlace: (lane: Lane, sink: string) => boolean
  readonly pulse: SinkPulse
  readonly queueAgain: (queued: Queued, trace: TraceCarrier | undefined) => Promise<void>
  readonly tracing?: Tracing
}

export interface PumpJobs {
  work(lane: Lane, data: unknown, signal: AbortSignal): Promise<Ended>
  /** Streams of a lane that this process works on. */
  running(lane: Lane): readonly Stream[]
}

const done: Ended = { as: 'done' }
const givenBack: Ended = { as: 'given back' }
/** After a failure that no checkpoint could hold. */
const restMs = 5_000
const mostResting = 1_000
/** One text for all of them, so that they make one line. */
const unplanned =
  'jobs are dropped whose streams this process does not plan: its configuration or its clock differs from those of whoever queued them'

/** Turns a job into one pump over its stream. */
export function createPumpJobs(deps: PumpJobsDeps): PumpJobs {
  const running = new Map<string, { readonly stream: Stream; readonly lane: Lane }>()
  const restUntilMs = new Map<string, number>()

  function isResting(key: string): boolean {
    const untilMs = restUntilMs.get(key)
    if (untilMs === undefined) return false
    if (untilMs > deps.clock.monotonic()) return true
    restUntilMs.delete(key)
    return false
  }

  async function pumpFor(...[planned, ...rest]: Parameters<PumpJobsDeps['pump']>) {
    const { sink } = planned.stream
    let isGood = false
    deps.pulse.began(sink)
    try {
      const failure = await deps.pump(planned, ...rest)
      isGood = failure === undefined
      return failure
    } finally {
      deps.pulse.ended(sink, isGood)
    }
  }

  /** Resolves to what is to be queued where the stream has more to do at once. */
  async function pumpOnce(job: JobData, signal: AbortSignal): Promise<Queued | 'nothing' | 'not now'> {
    const planned = await deps.planned(job, job.lane)
    if (planned === undefined) {
      // A backfill may have been paused or cancelled meanwhile.
      if (job.lane === 'live') warn(unplanned)
      return 'nothing'
    }
    // Whoever queued it may have been late, or another job of the stream was quicker.
    const dueAtMs = job.reason === 'anew' ? planned.wantedAtMs : planned.dueAtMs
    if (dueAtMs > deps.now(planned)) return 'nothing'
    const mayGoOn = () => job.lane === 'live' || deps.mayBackfill(planned)
    if (!mayGoOn()) return 'not now'
    const failure = await pumpFor(planned, mayGoOn, signal)
    if (failure !== undefined || signal.aborted || !mayGoOn()) return 'nothing'
    const after = await deps.planned(job, job.lane)
    if (after === undefined || after.dueAtMs > deps.now(after)) return 'nothing'
    return { stream: streamOf(job), account: planned.zone.account, lane: job.lane, reason: 'more' }
  }

  async function workOn(job: JobData, signal: AbortSignal): Promise<Ended> {
    const key = streamKey(job)
    // Two jobs of one stream meet where a lock ran out, or in two lanes: the tick brings it again.
    if (running.has(key) || isResting(key)) return done
    if (!deps.hasPlace(job.lane, job.sink)) return givenBack
    running.set(key, { stream: streamOf(job), lane: job.lane })
    try {
      const next = await pumpOnce(job, signal)
      if (signal.aborted || next === 'not now') return givenBack
      if (next === 'nothing') return done
      // Behind those that wait already, and at once: not with the next tick.
      return { as: 'done', afterwards: () => deps.queueAgain(next, job.trace) }
    } catch (error) {
      if (signal.aborted) return givenBack
      if (restUntilMs.size >= mostResting) restUntilMs.clear()
      restUntilMs.set(key, deps.clock.monotonic() + restMs)
      const isTaken = isFailure(error, 'fence_lost') || isFailure(error, 'held')
      if (!isTaken && !isFailure(error, 'cancelled'))
        deps.telemetry.emit({ name: 'PumpFailed', stream: streamOf(job), error })
      return done
    } finally {
      running.delete(key)
    }
  }

  function warn(text: string): void {
    deps.telemetry.emit({ name: 'Warned', about: 'queue', text })
  }

  return {
    async work(lane, data, signal) {
      const job = readJobData(data, lane)
      if ('fault' in job) {
        warn(
          `a job was dropped: ${job.fault}; look for other users of this Redis, and for an eviction policy`,
        )
        return done
      }
      const { tracing } = deps
      if (tracing === undefined || job.trace === undefined) return workOn(job, signal)
      return tracing.within(job.trace, () => workOn(job, signal))
    },
    running: (lane) => [...running.values()].filter((each) => each.lane === lane).map(({ stream }) => stream),
  }
}

function streamOf({ zone, day, sink }: JobData): Stream {
  return { zone, day, sink }
}
