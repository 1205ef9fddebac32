import { Queue, type JobsOptions } from 'bullmq'
import type { StateSnapshot } from '../../domain/snapshot.ts'
import type { Lane, Stream } from '../../domain/stream.ts'
import type { RedisClient } from '../../redis/connection.ts'
import type { JobData, Reason, TraceCarrier } from './job-data.ts'
import { jobIdOf } from './job-id.ts'
import { laneQueues, queuePrefix, tickQueue } from './queue-names.ts'
import type { Voice } from './voice.ts'

export interface Queues {
  readonly tick: Queue
  readonly lanes: Readonly<Record<Lane, Queue>>
  close(): Promise<void>
}

/** A job is a note that a stream is due: nothing of it is kept, since the checkpoint tells what became of it. */
export const jobOptions = {
  attempts: 1,
  removeOnComplete: true,
  removeOnFail: true,
} as const satisfies JobsOptions

/** The queues write events about their jobs that nobody reads. */
const keptEvents = 100

/** The queues over a connection of the caller, which stays open. */
export function openQueues(client: RedisClient, keyPrefix: string, voice: Voice): Queues {
  const open = (name: string) => {
    const queue = new Queue(name, {
      connection: client,
      prefix: queuePrefix(keyPrefix),
      skipVersionCheck: true,
      streams: { events: { maxLen: keptEvents } },
    })
    queue.on('error', voice)
    return queue
  }
  const tick = open(tickQueue)
  const lanes = { live: open(laneQueues.live), backfill: open(laneQueues.backfill) }
  return {
    tick,
    lanes,
    async close() {
      await Promise.all([tick, lanes.live, lanes.backfill].map((queue) => queue.close()))
    },
  }
}

export interface Queued {
  readonly stream: Stream
  readonly account: string
  readonly lane: Lane
  readonly reason: Reason
}

/** Queues the streams of one lane behind those that wait already; one that is queued or worked on stays as it is. */
export async function addJobs(
  { lanes }: Queues,
  lane: Lane,
  queued: readonly Queued[],
  trace: TraceCarrier | undefined,
): Promise<void> {
  if (queued.length === 0) return
  await lanes[lane].addBulk(
    queued.map(({ stream, account, reason }) => ({
      name: lane,
      data: {
        zone: stream.zone,
        day: stream.day,
        sink: stream.sink,
        lane,
        reason,
        ...(trace !== undefined && Object.keys(trace).length > 0 && { trace }),
      } satisfies JobData,
      opts: { ...jobOptions, jobId: jobIdOf(account, stream) },
    })),
  )
}

/**
 * Jobs by lane, for metrics. None is ever delayed or failed: what a failure means for a stream is in its checkpoint, and
 * one that backs off is in no queue.
 */
export async function countJobs({ lanes }: Pick<Queues, 'lanes'>): Promise<StateSnapshot['queues']> {
  const counted = (['live', 'backfill'] as const).map(async (lane) => {
    const counts = await lanes[lane].getJobCounts('waiting', 'active')
    return (['waiting', 'active'] as const).map((state) => ({ lane, state, jobs: counts[state] ?? 0 }))
  })
  return (await Promise.all(counted)).flat()
}
