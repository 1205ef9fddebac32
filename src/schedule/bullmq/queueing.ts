import type { Queue } from 'bullmq'
import { streamKey, type Stream } from '../../domain/stream.ts'
import type { RedisClient } from '../../redis/connection.ts'
import type { TraceCarrier } from './job-data.ts'
import { addJobs, deduplicationId, type Queued, type Queues } from './queues.ts'
import { queuePrefix } from './queue-names.ts'

export interface Queueing {
  /** Queues what is due, in its order. A stream is in one lane at a time, and live comes before backfill. */
  queue(due: readonly Queued[], trace: TraceCarrier | undefined): Promise<void>
  /** Of these streams, those that a live job waits for while a backfill works on them. */
  wantedLive(streams: readonly Stream[]): Promise<Stream[]>
}

/** A tick that finds the stream still busy tells it again. */
const wantedForMs = 5_000
/** Questions to Redis in one go. */
const atOnce = 200

export function createQueueing(queues: Queues, client: RedisClient, keyPrefix: string): Queueing {
  const wantedKey = (stream: Stream) => `${queuePrefix(keyPrefix)}:wanted:${streamKey(stream)}`

  /** Takes waiting backfill jobs of streams that are due live away; names those that are being worked on. */
  async function claim(due: readonly Queued[]): Promise<Set<string>> {
    const busy = new Set<string>()
    const backfill = queues.lanes.backfill
    for (const [stream, jobId] of await queuedJobs(backfill, due)) {
      // 0: a worker has it. It is told to yield after its page, and the next tick queues the stream live.
      if ((await backfill.remove(jobId)) === 1) continue
      busy.add(streamKey(stream))
      await client.set(wantedKey(stream), '1', 'PX', wantedForMs)
    }
    return busy
  }

  return {
    async queue(due, trace) {
      const live = due.filter(({ lane }) => lane === 'live')
      const busy = await claim(live)
      const free = live.filter(({ stream }) => !busy.has(streamKey(stream)))
      await addJobs(queues, 'live', free, trace)
      const wanted = new Set(live.map(({ stream }) => streamKey(stream)))
      const backfill = due.filter(({ lane, stream }) => lane === 'backfill' && !wanted.has(streamKey(stream)))
      const queuedLive = new Set([...(await queuedJobs(queues.lanes.live, backfill)).keys()].map(streamKey))
      const rest = backfill.filter(({ stream }) => !queuedLive.has(streamKey(stream)))
      await addJobs(queues, 'backfill', rest, trace)
    },
    async wantedLive(streams) {
      const asked = streams.map(async (stream) =>
        (await client.exists(wantedKey(stream))) > 0 ? [stream] : [],
      )
      return (await Promise.all(asked)).flat()
    },
  }
}

/** The jobs that streams have in a queue now, waiting or worked on. */
async function queuedJobs(queue: Queue, queued: readonly { stream: Stream }[]): Promise<Map<Stream, string>> {
  const found = new Map<Stream, string>()
  if (queued.length === 0 || (await queue.getJobCountByTypes('waiting', 'active')) === 0) return found
  for (let from = 0; from < queued.length; from += atOnce) {
    const asked = queued.slice(from, from + atOnce).map(async ({ stream }) => {
      const jobId = await queue.getDeduplicationJobId(deduplicationId(stream))
      if (jobId !== null) found.set(stream, jobId)
    })
    await Promise.all(asked)
  }
  return found
}
