import { cancelled, isFailure } from '../../domain/failure.ts'
import type { UpkeepTask } from '../../domain/internal-event.ts'
import type { PlannedStream } from '../../domain/plan/plan.ts'
import { repeat } from '../../domain/promises.ts'
import { streamKey } from '../../domain/stream.ts'
import type { Schedule } from '../../ports/process.ts'
import {
  housekeepMs,
  oftenMs,
  priorities,
  restAfterMs,
  sharesOf,
  type Places,
  type ScheduleDeps,
} from '../pumping.ts'
import { createRests, createRetries } from '../retries.ts'

const shortestTurnMs = 250

/** Timers and a bounded pool in this process. It plans again every second, from the checkpoints alone. */
export function startLocalSchedule(deps: ScheduleDeps): Schedule {
  const { clock, places, telemetry, tracing, heartbeat, housekeep, reconcile } = deps
  const stopping = new AbortController()
  const { signal } = stopping
  const rests = createRests(deps)
  const retries = createRetries()

  async function plan(): Promise<readonly PlannedStream[]> {
    deps.turned('schedule')
    const planned = await tracing.tick(deps.plan)
    retries.planned(planned)
    return planned
  }

  function inMs(planned: PlannedStream): number {
    const { stream, priority } = planned
    return rests.has(stream, priority) ? Infinity : retries.dueAtMs(planned) - deps.now(planned)
  }

  /** A pump returns a failure that its checkpoint holds, and throws any other. */
  async function pump(planned: PlannedStream): Promise<void> {
    const { stream, priority } = planned
    retries.tried(stream)
    try {
      await tracing.started(() => deps.pump(planned, signal))
    } catch (error) {
      if (!signal.aborted && !isFailure(error, 'cancelled')) rests.begin(stream, priority, error)
    }
  }

  const pumps = createPumpLoop({ clock, places, shortestMs: shortestTurnMs, plan, inMs, pump }, signal)
  const every = (ms: number, task: UpkeepTask, step: () => Promise<unknown>) =>
    repeat(
      ms,
      step,
      { clock, failed: (error) => telemetry.emit({ name: 'UpkeepFailed', task, error }) },
      signal,
    )
  const failed = (error: unknown) => telemetry.emit({ name: 'TickFailed', error })
  const loops = Promise.all([
    repeat(0, async () => void (await pumps.turn()), { clock, failed }, signal),
    every(oftenMs, 'heartbeat', heartbeat),
    every(housekeepMs, 'housekeeping', async () => {
      await reconcile(signal)
      return housekeep(signal)
    }),
  ])
  return {
    async stop() {
      stopping.abort(cancelled())
      await loops
      await pumps.drained()
    },
  }
}

interface PumpLoopDeps extends Pick<ScheduleDeps, 'clock' | 'places' | 'plan'> {
  /** Must not reject. */
  readonly pump: (planned: PlannedStream) => Promise<void>
  /** Ms until a planned stream is to be pumped: at most 0 for now, Infinity for not at all. */
  readonly inMs: (planned: PlannedStream) => number
  /** Shortest time from one plan to the next. */
  readonly shortestMs: number
}

/** Streams are planned again this often, and a little sooner when a pump has ended: its stream may have more to do. */
const turnMs = 1_000

/**
 * Plans, and pumps what is due: one pump at a time on a stream, and as many as there are places. The signal ends waits,
 * and the starting of pumps.
 */
export function createPumpLoop(deps: PumpLoopDeps, signal: AbortSignal) {
  const { clock, plan, pump, places, inMs, shortestMs } = deps
  const running = new Map<string, Promise<void>>()
  const rooms = createRooms(places)
  /** Streams whose pumps ended since the plan was begun: it may show them as they were before. */
  const outdated = new Set<string>()
  /** What is due by the latest plan and waits for a place, the most urgent first. */
  let queue: PlannedStream[] = []
  /** Aborts when the next pump ends. */
  let ending = new AbortController()

  /** Starts what waits for a place, as long as there are places. */
  function fill(): void {
    if (signal.aborted) return
    queue = queue.filter((next) => {
      if (!rooms.isFree(next)) return true
      const key = streamKey(next.stream)
      if (!running.has(key) && !outdated.has(key) && inMs(next) <= 0) start(key, next)
      return false
    })
  }

  function start(key: string, planned: PlannedStream): void {
    rooms.enter(planned)
    const ended = pump(planned).finally(() => {
      rooms.leave(planned)
      running.delete(key)
      outdated.add(key)
      fill()
      ending.abort()
      ending = new AbortController()
    })
    running.set(key, ended)
  }

  return {
    /** Plans once and starts what is due, for a second. False when nothing is to be pumped. Throws what planning throws. */
    async turn(): Promise<boolean> {
      const beganMs = clock.monotonic()
      outdated.clear()
      const planned = await plan()
      const plannedMs = clock.monotonic()
      const wanted: PlannedStream[] = []
      const due: PlannedStream[] = []
      let nextMs = turnMs
      for (const each of planned) {
        const ms = inMs(each)
        if (ms < Infinity) wanted.push(each)
        if (ms <= 0) due.push(each)
        else nextMs = Math.min(nextMs, ms)
      }
      queue = due
      rooms.divide(wanted)
      fill()
      const restMs = Math.max(shortestMs, restAfterMs(plannedMs - beganMs))
      if (restMs > 0) await clock.sleep(restMs, signal)
      if (wanted.length === 0) return false
      for (;;) {
        const isQueued = queue.length > 0
        const leftMs = plannedMs + (isQueued ? turnMs : nextMs) - clock.monotonic()
        if (leftMs <= 0 || (!isQueued && outdated.size > 0)) return true
        await clock.sleep(leftMs, AbortSignal.any([signal, ending.signal])).catch(() => undefined)
        signal.throwIfAborted()
      }
    },
    /** Resolves when no pump runs any more. Starts none meanwhile. */
    async drained(): Promise<void> {
      queue = []
      while (running.size > 0) await Promise.all(running.values())
    },
  }
}

/** The places of each priority, and the share of each sink in them. */
export function createRooms(places: Places) {
  let shares: ReadonlyMap<string, number> = new Map()
  const used = new Map<string, number>()
  const roomOf = ({ priority, stream }: PlannedStream) => `${priority} ${stream.sink}`
  const usedIn = (room: string) => used.get(room) ?? 0
  function count(planned: PlannedStream, more: number): void {
    for (const room of [planned.priority, roomOf(planned)]) used.set(room, usedIn(room) + more)
  }
  return {
    /** `wanted` are all streams that share the places. */
    divide(wanted: readonly PlannedStream[]): void {
      const all = priorities.flatMap((priority) => {
        const sinks = wanted.filter((each) => each.priority === priority).map(({ stream }) => stream.sink)
        const own = sharesOf(places[priority], [...new Set(sinks)])
        return [...own].map(([sink, share]) => [`${priority} ${sink}`, share] as const)
      })
      shares = new Map(all)
    },
    isFree(planned: PlannedStream): boolean {
      const room = roomOf(planned)
      return usedIn(planned.priority) < places[planned.priority] && usedIn(room) < (shares.get(room) ?? 1)
    },
    enter: (planned: PlannedStream) => count(planned, 1),
    leave: (planned: PlannedStream) => count(planned, -1),
  }
}
