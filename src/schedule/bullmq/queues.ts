import { Queue } from 'bullmq'
import { parseDay } from '../../domain/day.ts'
import type { Observation } from '../../domain/observation.ts'
import { streamKey, type Priority, type Stream } from '../../domain/stream.ts'
import type { TraceCarrier } from '../../ports/process.ts'
import type { RedisClient } from '../../redis/connection.ts'
import { priorities } from '../pumping.ts'

/** First part of all keys of the queues; the braces keep the keys of a deployment in one slot of a cluster. */
export function queuePrefix(keyPrefix: string): string {
  return `{${keyPrefix}}:queue`
}

/** BullMQ writes events about jobs, which nothing here reads. */
const keptEvents = 100

/** `isAnew`: the stream is tried despite its back-off. */
type QueuedJob = { readonly stream: Stream; readonly isAnew?: boolean }

interface StreamQueue {
  readonly priority: Priority
  readonly sink: string
  readonly queue: Queue
}

export type Queues = ReturnType<typeof openQueues>

/** The queue of ticks, and one of streams for each priority and sink, so that none blocks another. */
export function openQueues({
  client,
  keyPrefix,
  sinks,
  reportError,
}: {
  /** Stays open. */
  readonly client: RedisClient
  readonly keyPrefix: string
  readonly sinks: readonly string[]
  readonly reportError: (error: unknown) => void
}) {
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
  const tick = open('tick')
  const ofStreams = sinks.flatMap((sink) =>
    priorities.map((priority): StreamQueue => ({ priority, sink, queue: open(`${priority}-${sink}`) })),
  )
  return {
    tick,
    ofStreams,
    /** For metrics. No job is ever delayed or failed: a stream that backs off is in no queue. */
    async count(): Promise<Observation['queues']> {
      const counted = ofStreams.map(async ({ sink, priority, queue }) => {
        const { waiting = 0, active = 0 } = await queue.getJobCounts('waiting', 'active')
        return [
          { sink, priority, state: 'waiting', jobs: waiting },
          { sink, priority, state: 'active', jobs: active },
        ] as const
      })
      return (await Promise.all(counted)).flat()
    },
    async close(): Promise<void> {
      await Promise.all([tick, ...ofStreams.map(({ queue }) => queue)].map((queue) => queue.close()))
    },
  }
}

/** Queues streams behind those that already wait; skips streams that are queued or worked on. */
export async function addJobs(
  { priority, queue }: StreamQueue,
  queued: readonly QueuedJob[],
  trace: TraceCarrier = {},
): Promise<void> {
  const jobs = queued.map(({ stream, isAnew = false }) => ({
    name: priority,
    data: { isAnew, trace },
    opts: { jobId: streamKey(stream) },
  }))
  if (jobs.length > 0) await queue.addBulk(jobs)
}

/** The stream that a job's id names; undefined for a job of another program. */
export function streamOfJob(id: string | undefined): Stream | undefined {
  const [, zone, dayText = '', sink] = /^(\d{1,15})\/([\d-]+)\/(.+)$/s.exec(id ?? '') ?? []
  const day = parseDay(dayText)
  return sink === undefined || day === undefined ? undefined : { zone: Number(zone), day, sink }
}
