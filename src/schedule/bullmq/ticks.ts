import { streamKey } from '../../domain/stream.ts'
import { DueTimes, priorities, restAfterMs, type ScheduleDeps } from '../pumping.ts'
import type { Queues } from './queues.ts'

/** Plans, and queues what is due. A late or doubled tick is harmless: the plan depends on checkpoints only. */
export function createTick(
  queues: Queues,
  sinks: readonly string[],
  { clock, plan, now, tracing }: ScheduleDeps,
): () => Promise<void> {
  const dueTimes = new DueTimes()
  let restUntilMs = -Infinity

  return async () => {
    const beganMs = clock.monotonic()
    if (beganMs < restUntilMs) return
    const planned = await tracing.tick(plan)
    const plannedMs = clock.monotonic()
    restUntilMs = plannedMs + restAfterMs(plannedMs - beganMs)
    const bySink = await Promise.all(
      sinks.map(async (sink) => {
        const [live, backfill] = await Promise.all(priorities.map((priority) => queues.idsOf(priority, sink)))
        return { sink, queued: { live: live!, backfill: backfill! } }
      }),
    )
    const due = planned.filter((each) => {
      const nowMs = now(each)
      // Never due before it is wanted: most streams are left at that.
      return each.wantedAtMs <= nowMs && dueTimes.atMs(each) <= nowMs
    })
    const live = new Set(
      due.filter((each) => each.priority === 'live').map(({ stream }) => streamKey(stream)),
    )
    const carrier = due.length === 0 ? undefined : tracing.inject()
    for (const { sink, queued } of bySink)
      for (const priority of priorities) {
        // One pump at a time works on a stream, at one priority; live comes before backfill.
        const isFree = (key: string) => !queued[priority].has(key) && (priority === 'live' || !live.has(key))
        const mine = due.filter(({ priority: own, stream }) => own === priority && stream.sink === sink)
        const added = mine.flatMap((each) => {
          const { stream, dueAtMs } = each
          return isFree(streamKey(stream)) ? [{ stream, isAnew: dueAtMs > now(each) }] : []
        })
        await queues.add(priority, sink, added, carrier)
      }
    dueTimes.forgetUnplanned(planned)
    for (const each of planned) dueTimes.tried(each)
  }
}
