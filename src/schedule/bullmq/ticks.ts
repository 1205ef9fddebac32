import type { PlannedStream } from '../../domain/plan/plan.ts'
import { streamKey } from '../../domain/stream.ts'
import type { TraceCarrier } from '../../ports/process.ts'
import { jobOptions, priorities, type Queued, type Queues, type Reason } from './queues.ts'
import { DueTimes, type ScheduleDeps } from '../pumping.ts'

interface TicksDeps extends Pick<ScheduleDeps, 'clock' | 'plan' | 'now'> {
  readonly queues: Queues
  readonly sinks: readonly string[]
  readonly trace: () => TraceCarrier | undefined
}

/** Planning takes about a fifth of a process's time at most, however many streams there are. */
const restShare = 4
const longestRestMs = 5_000

const schedulerId = 'tick'

/** Plans and queues what is due. A late or doubled tick is harmless: the plan depends on checkpoints only. */
export class Ticks {
  readonly #deps: TicksDeps
  readonly #tickMs: number
  readonly #dueTimes = new DueTimes()
  #restUntilMs = -Infinity

  constructor(tickMs: number, deps: TicksDeps) {
    this.#tickMs = tickMs
    this.#deps = deps
  }

  /**
   * Ensures that the job scheduler exists, which fires ticks with `every`: one that is written again keeps its pace,
   * while a `pattern` may drop an iteration. Call it every few seconds, since a Redis may be emptied.
   */
  async schedule(): Promise<void> {
    const every = Math.ceil(this.#tickMs)
    await this.#deps.queues.tick.upsertJobScheduler(
      schedulerId,
      { every },
      { name: 'tick', opts: jobOptions },
    )
  }

  /** Plans, and queues what is due. */
  async tick(): Promise<void> {
    const { clock, plan } = this.#deps
    const beganMs = clock.monotonic()
    if (beganMs < this.#restUntilMs) return
    const planned = await plan()
    const plannedMs = clock.monotonic()
    this.#restUntilMs = plannedMs + Math.min(longestRestMs, (plannedMs - beganMs) * restShare)
    await this.#queue(planned)
  }

  async #queue(planned: readonly PlannedStream[]): Promise<void> {
    const { queues, sinks, trace } = this.#deps
    const bySink = await Promise.all(
      sinks.map(async (sink) => {
        const [live, backfill] = await Promise.all(priorities.map((priority) => queues.idsOf(priority, sink)))
        return { sink, ids: { live: live!, backfill: backfill! } }
      }),
    )
    const due = this.#dueOf(planned)
    const isLive = new Set(
      due.flatMap(({ priority, stream }) => (priority === 'live' ? [streamKey(stream)] : [])),
    )
    const carrier = due.length === 0 ? undefined : trace()
    for (const { sink, ids } of bySink)
      for (const priority of priorities) {
        // One pump at a time works on a stream, at one priority; live comes before backfill.
        const isQueued = (key: string) =>
          ids[priority].waiting.has(key) ||
          ids[priority].active.has(key) ||
          (priority === 'backfill' && isLive.has(key))
        const mine = due.filter((each) => each.priority === priority && each.stream.sink === sink)
        const added = mine.filter(({ stream }) => !isQueued(streamKey(stream)))
        await queues.add(priority, sink, added, carrier)
      }
    this.#dueTimes.triedAll(planned)
  }

  #dueOf(planned: readonly PlannedStream[]): (Queued & Pick<PlannedStream, 'priority'>)[] {
    return planned.flatMap((each) => {
      const { stream, priority } = each
      const nowMs = this.#deps.now(each)
      // Never due before it is wanted: most streams are left at that.
      if (each.wantedAtMs > nowMs || this.#dueTimes.atMs(each) > nowMs) return []
      const reason: Reason = each.dueAtMs <= nowMs ? 'due' : 'anew'
      return [{ stream, priority, reason }]
    })
  }
}
