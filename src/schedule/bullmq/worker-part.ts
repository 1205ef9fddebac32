import { streamKey, type Stream } from '../../domain/stream.ts'
import type { Consumer } from './consumer.ts'
import type { Links } from './links.ts'
import { createPumpJobs } from './pump-jobs.ts'
import { laneQueues } from './queue-names.ts'
import { addJobs } from './queues.ts'

export interface WorkerPart {
  readonly consumers: readonly Consumer[]
  /** Looks whether live streams wait; to be called several times a second. */
  look(): Promise<void>
}

/** Pumps what is queued. Backfills have places of their own, and start and go on only while no live stream waits. */
export function createWorkerPart({ options, deps, voice, queues, queueing, consume }: Links): WorkerPart {
  let isQuiet = true
  /** Streams of this process's backfills that have become due live. */
  let wanted: ReadonlySet<string> = new Set()

  const jobs = createPumpJobs({
    ...deps,
    voice,
    mayBackfill: (stream: Stream) => isQuiet && !wanted.has(streamKey(stream)),
    queueAgain: (queued, trace) => addJobs(queues, queued.lane, [queued], trace),
  })
  const live = consume(laneQueues.live, {
    slots: options.streams,
    loop: 'worker',
    mayTake: () => true,
    work: (data, signal) => jobs.work('live', data, signal),
  })
  const backfill = consume(laneQueues.backfill, {
    slots: options.backfillStreams,
    loop: 'worker',
    mayTake: () => isQuiet,
    work: (data, signal) => jobs.work('backfill', data, signal),
  })
  return {
    consumers: [live, backfill],
    async look() {
      const [waiting, due] = await Promise.all([
        queues.lanes.live.getJobCountByTypes('waiting'),
        queueing.wantedLive(jobs.backfilling()),
      ])
      isQuiet = waiting === 0
      wanted = new Set(due.map(streamKey))
    },
  }
}
