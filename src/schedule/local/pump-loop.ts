import type { PlannedStream } from '../../domain/plan/plan.ts'
import { streamKey, type Priority } from '../../domain/stream.ts'
import type { Clock } from '../../ports/process.ts'
import { priorities, restAfterMs, sharesOf } from '../pumping.ts'

/** How many streams of each priority are pumped at once; the sinks share them. */
export type Places = Readonly<Record<Priority, number>>

export interface PumpLoopDeps {
  readonly clock: Clock
  /** All planned streams, the most urgent first. */
  readonly plan: () => Promise<readonly PlannedStream[]>
  /** Must not reject. */
  readonly pump: (planned: PlannedStream) => Promise<void>
  readonly places: Places
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
  const running = new Map<string, { readonly planned: PlannedStream; readonly ended: Promise<void> }>()
  /** Streams whose pumps ended since the plan was begun: it may show them as they were before. */
  const outdated = new Set<string>()
  /** What is due by the latest plan and waits for a place, the most urgent first. */
  let queue: PlannedStream[] = []
  let rooms: Rooms = new Map()
  /** Aborts when the next pump ends. */
  let ending = new AbortController()

  /** Starts what waits for a place, as long as there are places. */
  function fill(): void {
    const busy = [...running.values()].map(({ planned }) => planned)
    while (queue.length > 0 && !signal.aborted) {
      const next = takeNext(queue, busy, rooms)
      if (next === undefined) return
      const key = streamKey(next.stream)
      if (running.has(key) || outdated.has(key) || inMs(next) > 0) continue
      start(key, next)
      busy.push(next)
    }
  }

  function start(key: string, planned: PlannedStream): void {
    const ended = pump(planned).finally(() => {
      running.delete(key)
      outdated.add(key)
      fill()
      ending.abort()
      ending = new AbortController()
    })
    running.set(key, { planned, ended })
  }

  /** Resolves after `mostMs` at the latest. Rejects when the loop is to end. */
  async function untilOneEnds(mostMs: number): Promise<void> {
    const ended = ending.signal
    try {
      await clock.sleep(mostMs, AbortSignal.any([signal, ended]))
    } catch (error) {
      if (signal.aborted || !ended.aborted) throw error
    }
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
      rooms = roomsOf(places, wanted)
      fill()
      const restMs = Math.max(shortestMs, restAfterMs(plannedMs - beganMs))
      if (restMs > 0) await clock.sleep(restMs, signal)
      if (wanted.length === 0) return false
      for (;;) {
        const isQueued = queue.length > 0
        const leftMs = plannedMs + (isQueued ? turnMs : nextMs) - clock.monotonic()
        if (leftMs <= 0 || (!isQueued && outdated.size > 0)) return true
        await untilOneEnds(leftMs)
      }
    },
    /** Resolves when no pump runs any more. Starts none meanwhile. */
    async drained(): Promise<void> {
      queue = []
      while (running.size > 0) await Promise.all([...running.values()].map(({ ended }) => ended))
    },
  }
}

/** Places by priority, and by priority and sink. */
type Rooms = ReadonlyMap<string, number>

/** `wanted` are all streams that share the places. */
export function roomsOf(places: Places, wanted: readonly PlannedStream[]): Rooms {
  return new Map(
    priorities.flatMap((priority): [string, number][] => {
      const sinks = wanted.filter((each) => each.priority === priority).map(({ stream }) => stream.sink)
      const shares = [...sharesOf(places[priority], [...new Set(sinks)])]
      return [
        [priority, places[priority]],
        ...shares.map(([sink, share]): [string, number] => [`${priority} ${sink}`, share]),
      ]
    }),
  )
}

/** Removes the first stream with a free place from a queue; undefined while there is none. */
export function takeNext(
  queue: PlannedStream[],
  running: readonly PlannedStream[],
  rooms: Rooms,
): PlannedStream | undefined {
  const used = new Map<string, number>()
  for (const group of running.flatMap(groupsOf)) used.set(group, (used.get(group) ?? 0) + 1)
  const isFree = (group: string) => (used.get(group) ?? 0) < (rooms.get(group) ?? 1)
  const at = queue.findIndex((each) => groupsOf(each).every(isFree))
  return at === -1 ? undefined : queue.splice(at, 1)[0]
}

function groupsOf({ priority, stream }: PlannedStream): string[] {
  return [priority, `${priority} ${stream.sink}`]
}
