import { Queue, type JobsOptions } from 'bullmq'
import { parseDay } from '../../domain/day.ts'
import type { StateSnapshot } from '../../domain/plan/snapshot.ts'
import { streamKey, type Priority, type Stream } from '../../domain/stream.ts'
import type { TraceCarrier } from '../../ports/process.ts'
import type { RedisClient } from '../../redis/connection.ts'
import type { ReportError } from './queue-worker.ts'

export const priorities: readonly Priority[] = ['live', 'backfill']
export const tickQueue = 'tick'

/** Each priority and sink has its own queue, so that none blocks another. */
function queueOf(priority: Priority, sink: string): string {
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
    this.#sinks = sinks
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

function namesOf(sinks: readonly string[]): string[] {
  return priorities.flatMap((priority) => sinks.map((sink) => queueOf(priority, sink)))
}

/**
 * Why a stream was queued. `due`: its time has come. `more`: its time slice ended with more to do. `anew`: a process
 * has just started and tries the stream once despite its back-off.
 */
export type Reason = 'due' | 'more' | 'anew'

/** What a job holds: which stream, never its progress. Progress is in the stream's checkpoint. */
export interface JobData extends Stream {
  readonly priority: Priority
  readonly reason: Reason
  readonly trace?: TraceCarrier
}

const reasons: readonly string[] = ['due', 'more', 'anew'] satisfies readonly Reason[]
const longestSink = 512
const mostHeaders = 16
const longestHeader = 1_024

/** Reads a job's data, which other users of Redis may have written, or an eviction policy removed. */
export function readJobData(data: unknown, priority: Priority): JobData | { readonly error: string } {
  if (typeof data !== 'object' || data === null) return { error: 'it has no data' }
  const { zone, day, sink, reason, trace } = data as Record<string, unknown>
  if (typeof zone !== 'number' || !Number.isSafeInteger(zone))
    return { error: 'its zone is not a whole number' }
  const parsedDay = typeof day === 'string' ? parseDay(day) : undefined
  if (parsedDay === undefined) return { error: 'its day is not a day' }
  if (typeof sink !== 'string' || sink === '' || sink.length > longestSink)
    return { error: 'its sink is not a name' }
  const named = { zone, day: parsedDay, sink, priority, reason: isReason(reason) ? reason : 'due' } as const
  const carrier = readCarrier(trace)
  return carrier === undefined ? named : { ...named, trace: carrier }
}

function isReason(value: unknown): value is Reason {
  return typeof value === 'string' && reasons.includes(value)
}

/** The work does not depend on a trace: a malformed one is ignored. */
function readCarrier(value: unknown): TraceCarrier | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const headers = Object.entries(value).filter(
    (entry): entry is [string, string] =>
      typeof entry[1] === 'string' && entry[0].length + entry[1].length <= longestHeader,
  )
  return headers.length === 0 || headers.length > mostHeaders ? undefined : Object.fromEntries(headers)
}
