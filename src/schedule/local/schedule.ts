import { cancelled, isFailure, type Failure } from '../../domain/failure.ts'
import type { UpkeepTask } from '../../domain/happening.ts'
import type { PlannedStream } from '../../domain/plan.ts'
import { streamKey } from '../../domain/stream.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Schedule } from '../../ports/schedule.ts'
import type { Telemetry } from '../../ports/telemetry.ts'
import { countSinks, shareOfSink } from '../fair-share.ts'
import { createSinkPulse } from '../sink-pulse.ts'
import { createPool } from './pool.ts'
import { takeNext } from './take-next.ts'

export interface LocalScheduleDeps {
  readonly clock: Clock
  readonly telemetry: Telemetry
  /** All planned streams, the most urgent first. */
  readonly plan: () => Promise<PlannedStream[]>
  /** `mayGoOn` is asked after each page. */
  readonly pump: (
    planned: PlannedStream,
    mayGoOn: () => boolean,
    signal: AbortSignal,
  ) => Promise<Failure | undefined>
  /** How many streams are pumped at once, in each lane; read anew at each turn. */
  readonly streams: () => number
  readonly backfillStreams: () => number
  /** Tells the store that this process lives. */
  readonly heartbeat: () => Promise<void>
  /** Work that is due now and then; called every ten minutes. */
  readonly housekeep: (signal: AbortSignal) => Promise<void>
  /** Called at each turn of the loop, for `/healthz`. */
  readonly turned: () => void
  readonly now: (planned: PlannedStream) => number
}

/** Streams are planned anew this often, and a little sooner when a pump has ended: its stream may want to go on. */
const turnMs = 1_000
const shortestTurnMs = 250
const longestTurnMs = 5_000
const heartbeatMs = 5_000
const housekeepMs = 600_000
/** After a step that failed, so that an unreachable store is no busy loop. */
const failedMs = 1_000
/** Failures that no checkpoint could hold, such as a store out of reach: the stream rests in memory. */
const restMs = 5_000

type Loop = 'schedule' | Extract<UpkeepTask, 'heartbeat' | 'housekeeping'>

/** Timers and a bounded pool in this process. What is due is planned anew every second, from the checkpoints alone. */
export function createLocalSchedule(deps: LocalScheduleDeps): Schedule {
  const abort = new AbortController()
  const live = createPool(deps.streams)
  const backfill = createPool(deps.backfillStreams)
  const pulse = createSinkPulse(deps.clock)
  /** Streams that this process has pumped: for the others, what failed before it started is no reason to wait. */
  const tried = new Set<string>()
  /** The live streams of the latest plan. One that was pumped since counts as due until it is planned anew. */
  let waiting: readonly PlannedStream[] = []
  let hasEnded = false
  /** What the latest plan has in the backfill lane: a backfill that was paused or cancelled is no longer in it. */
  let wished: ReadonlySet<string> = new Set()
  const restUntil = new Map<string, number>()
  let loops: Promise<unknown> | undefined

  async function work(planned: PlannedStream): Promise<void> {
    const { lane, stream, zone } = planned
    const mayGoOn =
      lane === 'live' ? () => true : () => wished.has(wishKey(planned)) && !isLiveWaiting(zone.account)
    tried.add(streamKey(stream))
    let isGood = false
    pulse.began(stream.sink)
    try {
      isGood = (await deps.pump(planned, mayGoOn, abort.signal)) === undefined
    } catch (error) {
      if (abort.signal.aborted || isFailure(error, 'cancelled')) return
      restUntil.set(streamKey(stream), deps.clock.monotonic() + restMs)
      if (!isFailure(error, 'fence_lost') && !isFailure(error, 'held'))
        deps.telemetry.emit({ name: 'PumpFailed', stream, error })
    } finally {
      pulse.ended(stream.sink, isGood)
      hasEnded ||= lane === 'live'
    }
  }

  function isDue(planned: PlannedStream): boolean {
    const atMs = tried.has(streamKey(planned.stream)) ? planned.dueAtMs : planned.wantedAtMs
    return atMs <= deps.now(planned)
  }

  /** A stream is in one lane at a time. */
  function isRunning(key: string): boolean {
    return live.has(key) || backfill.has(key)
  }

  /** Once a live stream of an account is due, no further backfill page of that account starts before it. */
  function isLiveWaiting(account: string): boolean {
    return waiting.some(
      (planned) =>
        planned.zone.account === account &&
        isDue(planned) &&
        !isRunning(streamKey(planned.stream)) &&
        !pulse.hangs(planned.stream.sink),
    )
  }

  /** Until the next live stream is due: from then on the backfills of its account rest until it has started. */
  function untilDueMs(): number {
    let leastMs = Infinity
    for (const planned of waiting) {
      const ms = planned.dueAtMs - deps.now(planned)
      if (ms > 0 && !isRunning(streamKey(planned.stream))) leastMs = Math.min(leastMs, ms)
    }
    return leastMs
  }

  function isResting(key: string): boolean {
    const untilMs = restUntil.get(key)
    if (untilMs === undefined) return false
    if (untilMs > deps.clock.monotonic()) return true
    restUntil.delete(key)
    return false
  }

  /** Days come and go while a process runs. */
  function forgetUnplanned(planned: readonly PlannedStream[]): void {
    if (tried.size + restUntil.size <= planned.length * 2) return
    const keys = new Set(planned.map(({ stream }) => streamKey(stream)))
    for (const key of tried) if (!keys.has(key)) tried.delete(key)
    for (const key of restUntil.keys()) if (!keys.has(key)) restUntil.delete(key)
  }

  /** Starts what is due; gives up after a second, since the plan is stale by then and health must see it turn. */
  async function turn(): Promise<void> {
    deps.turned()
    const beganMs = deps.clock.monotonic()
    const leftMs = (wholeMs: number) => beganMs + wholeMs - deps.clock.monotonic()
    hasEnded = false
    const planned = await deps.plan()
    const planMs = deps.clock.monotonic() - beganMs
    forgetUnplanned(planned)
    waiting = planned.filter(({ lane }) => lane === 'live')
    const backfills = planned.filter(({ lane }) => lane === 'backfill')
    wished = new Set(backfills.map(wishKey))
    const mayStart = (next: PlannedStream) => {
      const key = streamKey(next.stream)
      return isDue(next) && !isRunning(key) && !isResting(key)
    }
    const queue = waiting.filter(mayStart)
    const share = shareOfSink(deps.streams(), countSinks(waiting))
    while (queue.length > 0 && leftMs(turnMs) > 0) {
      const next = takeNext(queue, live, share)
      if (next === undefined) await live.next(deps.clock, leftMs(turnMs), abort.signal)
      else if (mayStart(next)) live.run(streamKey(next.stream), next.stream.sink, () => work(next))
    }
    const backfillShare = shareOfSink(deps.backfillStreams(), countSinks(backfills))
    for (const next of backfills) {
      const { sink } = next.stream
      if (backfill.isFull() || backfill.sizeOf(sink) >= backfillShare || !mayStart(next)) continue
      if (!isLiveWaiting(next.zone.account)) backfill.run(streamKey(next.stream), sink, () => work(next))
    }
    if (queue.length > 0) return
    // Planning takes about a fifth of the time at most, however many streams there are.
    const restedMs = Math.min(planMs * 4, longestTurnMs)
    await deps.clock.sleep(Math.max(leftMs(shortestTurnMs), restedMs), abort.signal)
    const leastMs = Math.min(leftMs(turnMs), untilDueMs())
    // What has ended by now is planned anew at once: the backfills of its account rest until then.
    if (leastMs > 0 && !hasEnded) await live.next(deps.clock, leastMs, abort.signal)
  }

  async function repeat(loop: Loop, everyMs: number, step: () => Promise<void>): Promise<void> {
    while (!abort.signal.aborted) {
      try {
        await step()
      } catch (error) {
        if (abort.signal.aborted) return
        deps.telemetry.emit(
          loop === 'schedule' ? { name: 'TickFailed', error } : { name: 'UpkeepFailed', task: loop, error },
        )
        await deps.clock.sleep(failedMs, abort.signal).catch(() => undefined)
      }
      if (everyMs > 0) await deps.clock.sleep(everyMs, abort.signal).catch(() => undefined)
    }
  }

  return {
    async start() {
      loops ??= Promise.all([
        repeat('schedule', 0, turn),
        repeat('heartbeat', heartbeatMs, deps.heartbeat),
        repeat('housekeeping', housekeepMs, () => deps.housekeep(abort.signal)),
      ])
    },
    async stop() {
      abort.abort(cancelled())
      await loops
      await live.drained()
      await backfill.drained()
    },
  }
}

function wishKey({ stream, wish }: PlannedStream): string {
  return `${streamKey(stream)} ${wish?.id}`
}
