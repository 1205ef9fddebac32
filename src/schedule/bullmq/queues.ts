import { Queue } from 'bullmq'
import { parseDay } from '../../domain/day.ts'
import type { Observation } from '../../domain/status/observation.ts'
import { streamKey, type Priority, type Stream } from '../../domain/stream.ts'
import type { TraceCarrier } from '../../ports/process.ts'
import type { RedisClient } from '../../redis/connection.ts'
import { priorities } from '../pumping.ts'
import type { ReportError } from './queue-worker.ts'

export const tickQueue = 'tick'

/** Each priority and sink has its own queue, so that none blocks another. */
function queueOf(priority: Priority, sink: string): string {
  return `${priority}-${sink}`
}

/** First part of all keys of the queues; the braces keep the keys of a deployment in one slot of a cluster. */
export function queuePrefix(keyPrefix: string): string {
  return `{${keyPrefix}}:queue`
}

/** BullMQ writes events about jobs, which nothing here reads. */
const keptEvents = 100

export interface QueuedJob {
  readonly stream: Stream
  /** A process has just started, and tries the stream once despite its back-off. */
  readonly isAnew?: boolean
  readonly trace?: TraceCarrier
}

interface QueuesOptions {
  /** Stays open. */
  readonly client: RedisClient
  readonly keyPrefix: string
  readonly sinks: readonly string[]
  readonly reportError: ReportError
}

/** The queue of ticks, and one of streams for each priority and sink. */
export class Queues {
  readonly tick: Queue
  readonly #queues = new Map<string, Queue>()
  readonly #sinks: readonly string[]

  constructor({ client, keyPrefix, sinks, reportError }: QueuesOptions) {
    const open = (name: string) => {
      const queue = new Queue(name, {
        connection: client,
        prefix: queuePrefix(keyPrefix),
        skipVersionCheck: true,
        streams: { events: { maxLen: keptEvents } },
      })
      queue.on('error', reportError)
      return queue
    }
    this.#sinks = sinks
    this.tick = open(tickQueue)
    for (const priority of priorities)
      for (const sink of sinks) this.#queues.set(queueOf(priority, sink), open(queueOf(priority, sink)))
  }

  of(priority: Priority, sink: string): Queue {
    return this.#queues.get(queueOf(priority, sink))!
  }

  /**
   * Ensures that the job scheduler exists, which fires ticks with `every`: one that is written again keeps its pace,
   * while a `pattern` may drop an iteration. Call it every few seconds, since a Redis may be emptied.
   */
  async scheduleTicks(everyMs: number): Promise<void> {
    await this.tick.upsertJobScheduler('tick', { every: Math.ceil(everyMs) }, { name: 'tick' })
  }

  /** Queues streams of one sink behind those that already wait; skips streams that are queued or worked on. */
  async add(
    priority: Priority,
    sink: string,
    queued: readonly QueuedJob[],
    trace?: TraceCarrier,
  ): Promise<void> {
    if (queued.length === 0) return
    const withTrace = trace !== undefined && Object.keys(trace).length > 0 && { trace }
    const jobs = queued.map(({ stream, isAnew = false }) => ({
      name: priority,
      data: { isAnew, ...withTrace } satisfies Omit<QueuedJob, 'stream'>,
      opts: { jobId: streamKey(stream) },
    }))
    await this.of(priority, sink).addBulk(jobs)
  }

  /** The streams (`streamKey`) that wait or are worked on. */
  async idsOf(priority: Priority, sink: string): Promise<ReadonlySet<string>> {
    return new Set(await this.of(priority, sink).getRanges(['wait', 'active']))
  }

  /** For metrics. No job is ever delayed or failed: a stream that backs off is in no queue. */
  async count(): Promise<Observation['queues']> {
    const counted = this.#sinks.flatMap((sink) =>
      priorities.map(async (priority) => {
        const { waiting = 0, active = 0 } = await this.of(priority, sink).getJobCounts('waiting', 'active')
        return [
          { sink, priority, state: 'waiting', jobs: waiting },
          { sink, priority, state: 'active', jobs: active },
        ] as const
      }),
    )
    return (await Promise.all(counted)).flat()
  }

  async close(): Promise<void> {
    await Promise.all([this.tick, ...this.#queues.values()].map((queue) => queue.close()))
  }
}

/**
 * A job's id is its stream; progress is in the stream's checkpoint only. Undefined for a job of another program. Its data
 * may have been removed by an eviction policy.
 */
export function readJob(id: string | undefined, data: unknown): QueuedJob | undefined {
  const [, zone, dayText = '', sink] = /^(\d{1,15})\/([\d-]+)\/(.+)$/s.exec(id ?? '') ?? []
  const day = parseDay(dayText)
  if (sink === undefined || day === undefined) return undefined
  const { isAnew, trace } = (data ?? {}) as Record<string, unknown>
  const job = { stream: { zone: Number(zone), day, sink }, isAnew: isAnew === true }
  return isCarrier(trace) ? { ...job, trace } : job
}

/** The work does not depend on a trace: a malformed one is ignored. */
function isCarrier(value: unknown): value is TraceCarrier {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((each) => typeof each === 'string')
  )
}
