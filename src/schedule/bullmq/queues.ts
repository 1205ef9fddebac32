import { Queue, type JobsOptions } from 'bullmq'
import type { StateSnapshot } from '../../domain/plan/snapshot.ts'
import { streamKey, type Priority, type Stream } from '../../domain/stream.ts'
import type { RedisClient } from '../../redis/connection.ts'
import type { JobData, Reason } from './job-data.ts'
import type { TraceCarrier } from '../../ports/process.ts'
import type { ReportError } from './report-error.ts'

export const priorities: readonly Priority[] = ['live', 'backfill']
export const tickQueue = 'tick'

/** Each priority and sink has its own queue, so that none blocks another. */
export function queueOf(priority: Priority, sink: string): string {
  return `${priority}-${sink}`
}

/** First part of all keys of the queues; the braces keep the keys of a deployment in one slot of a cluster. */
export function queuePrefix(keyPrefix: string): string {
  return `{${keyPrefix}}:queue`
}

/** Nothing of a job is kept after its end, since the checkpoint holds the result. */
export const jobOptions = {
  attempts: 1,
  removeOnComplete: true,
  removeOnFail: true,
} as const satisfies JobsOptions

/** BullMQ writes events about jobs, which nothing here reads. */
const keptEvents = 100

export interface Queued {
  readonly stream: Stream
  readonly reason: Reason
}

export interface QueuesOptions {
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
  readonly #open: (name: string) => Queue

  constructor({ client, keyPrefix, sinks, reportError }: QueuesOptions) {
    this.#open = (name) => {
      const queue = new Queue(name, {
        connection: client,
        prefix: queuePrefix(keyPrefix),
        skipVersionCheck: true,
        streams: { events: { maxLen: keptEvents } },
      })
      queue.on('error', reportError)
      return queue
    }
    this.tick = this.#open(tickQueue)
    for (const name of namesOf(sinks)) this.#queues.set(name, this.#open(name))
  }

  of(priority: Priority, sink: string): Queue {
    const queue = this.#queues.get(queueOf(priority, sink))
    if (queue === undefined) throw new RangeError(`no queue for ${priority} streams of ${sink}`)
    return queue
  }

  /** Queues streams of one sink behind those that already wait; skips streams that are queued or worked on. */
  async add(
    priority: Priority,
    sink: string,
    queued: readonly Queued[],
    trace?: TraceCarrier,
  ): Promise<void> {
    if (queued.length === 0) return
    const withTrace = trace !== undefined && Object.keys(trace).length > 0 && { trace }
    const jobs = queued.map(({ stream, reason }) => ({
      name: priority,
      data: { ...stream, priority, reason, ...withTrace } satisfies JobData,
      opts: { ...jobOptions, jobId: streamKey(stream) },
    }))
    await this.of(priority, sink).addBulk(jobs)
  }

  /**
   * Drops waiting jobs of sinks that the configuration no longer names. A process whose configuration still names such
   * a sink queues its streams again with its next tick. Not `obliterate`, which pauses the queue of that process.
   */
  async empty(sinks: readonly string[]): Promise<void> {
    for (const name of namesOf(sinks)) {
      const queue = this.#open(name)
      try {
        await queue.drain()
      } finally {
        await queue.close()
      }
    }
  }

  /** The streams (`streamKey`) that wait, and those that are worked on. */
  async idsOf(priority: Priority, sink: string): Promise<{ waiting: Set<string>; active: Set<string> }> {
    const queue = this.of(priority, sink)
    const [waiting, active] = await Promise.all([queue.getRanges(['wait']), queue.getRanges(['active'])])
    return { waiting: new Set(waiting), active: new Set(active) }
  }

  /** For metrics. No job is ever delayed or failed: a stream that backs off is in no queue. */
  async count(): Promise<StateSnapshot['queues']> {
    const states = ['waiting', 'active'] as const
    const counted = priorities.map(async (priority) => {
      const queues = [...this.#queues].filter(([name]) => name.startsWith(`${priority}-`))
      const counts = await Promise.all(queues.map(([, queue]) => queue.getJobCounts(...states)))
      return states.map((state) => ({
        priority,
        state,
        jobs: counts.reduce((sum, each) => sum + (each[state] ?? 0), 0),
      }))
    })
    return (await Promise.all(counted)).flat()
  }

  async close(): Promise<void> {
    await Promise.all([this.tick, ...this.#queues.values()].map((queue) => queue.close()))
  }
}

function namesOf(sinks: readonly string[]): string[] {
  return priorities.flatMap((priority) => sinks.map((sink) => queueOf(priority, sink)))
}
