import type { PlannedStream } from '../../domain/plan.ts'
import { streamKey } from '../../domain/stream.ts'
import type { Clock } from '../../ports/clock.ts'
import type { RedisClient } from '../../redis/connection.ts'
import { within } from '../../domain/within.ts'
import { forecastOf } from './forecast.ts'
import type { TraceCarrier } from './job-data.ts'
import { queuePrefix } from './queue-names.ts'
import { jobOptions, type Queued, type Queues } from './queues.ts'
import type { Queueing } from './queueing.ts'
import type { Voice } from './voice.ts'

export interface TicksDeps {
  readonly clock: Clock
  readonly voice: Voice
  readonly queues: Queues
  readonly queueing: Queueing
  readonly client: RedisClient
  readonly plan: () => Promise<PlannedStream[]>
  readonly now: (planned: PlannedStream) => number
  readonly trace: () => TraceCarrier | undefined
}

export interface Ticks {
  /** Plans, and queues what is due. One that comes late or twice is harmless: the plan is made from the checkpoints. */
  tick(): Promise<void>
  /** Sees to it that ticks come, until the signal aborts. */
  reconcile(signal: AbortSignal): Promise<void>
}

/** A plan that takes longer has got stuck; the next tick plans anew. */
const longestTickMs = 60_000
const upsertEveryMs = 60_000
/** Planning takes about a fifth of a process's time at most, however many streams there are. */
const restShare = 4
const longestRestMs = 5_000
/** So long without any tick, from whichever process, and one is queued by hand. */
const missedTicks = 3
const leastMissedMs = 3_000

const schedulerId = 'tick'

/**
 * The job scheduler of the queue fires a tick, with `every`, since writing a cron one anew may drop an iteration. It is
 * written anew each minute and whenever no tick came for a while, so that a flushed Redis, a lost iteration and a
 * process whose clock is far ahead all heal.
 */
export function createTicks(
  { keyPrefix, tickMs }: { readonly keyPrefix: string; readonly tickMs: number },
  deps: TicksDeps,
): Ticks {
  const { clock, queues, client } = deps
  const tickedKey = `${queuePrefix(keyPrefix)}:ticked`
  // Redis takes whole ms only.
  const missedMs = Math.ceil(Math.max(leastMissedMs, missedTicks * tickMs))
  /** Streams that this process has queued: for the others, what failed before it started is no reason to wait. */
  let tried: ReadonlySet<string> = new Set()
  let upsertedAtMs = -Infinity
  let restUntilMs = -Infinity

  async function planAndQueue(): Promise<void> {
    const planned = await deps.plan()
    const due = planned.flatMap((each): Queued[] => {
      const { stream, lane, zone } = each
      const queued = { stream, account: zone.account, lane }
      const isNew = !tried.has(streamKey(stream))
      if (each.dueAtMs <= deps.now(each)) return [{ ...queued, reason: 'due' }]
      return isNew && each.wantedAtMs <= deps.now(each) ? [{ ...queued, reason: 'anew' }] : []
    })
    // First, so that backfills rest for what comes due while this tick is at work.
    await deps.queueing.announce(forecastOf(planned, deps.now))
    if (due.length > 0) await deps.queueing.queue(due, deps.trace())
    tried = new Set(planned.map(({ stream }) => streamKey(stream)))
  }

  async function lookAfter(): Promise<void> {
    const isMissing = (await client.exists(tickedKey)) === 0
    if (isMissing || clock.monotonic() - upsertedAtMs >= upsertEveryMs) {
      await queues.tick.upsertJobScheduler(
        schedulerId,
        { every: Math.ceil(tickMs) },
        { name: 'tick', opts: jobOptions },
      )
      upsertedAtMs = clock.monotonic()
    }
    if (isMissing) await queues.tick.add('tick', {}, { ...jobOptions, deduplication: { id: 'missed' } })
  }

  return {
    async tick() {
      await client.set(tickedKey, '1', 'PX', missedMs)
      const beganMs = clock.monotonic()
      if (beganMs < restUntilMs) return
      const answer = await within(longestTickMs, planAndQueue(), clock)
      const endedMs = clock.monotonic()
      restUntilMs = endedMs + Math.min(longestRestMs, (endedMs - beganMs) * restShare)
      if (answer === 'late') throw new Error(`a plan took longer than ${longestTickMs / 1000} s`)
    },
    async reconcile(signal) {
      while (!signal.aborted) {
        await lookAfter().catch(deps.voice)
        await clock.sleep(missedMs / 2, signal).catch(() => undefined)
      }
    },
  }
}
