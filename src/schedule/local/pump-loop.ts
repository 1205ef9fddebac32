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

/** Plans, and pumps what is due: one pump at a time on a stream, and as many as there are places. */
export class PumpLoop {
  readonly #deps: PumpLoopDeps
  /** Ends waits. */
  readonly #signal: AbortSignal
  readonly #running = new Map<string, { readonly planned: PlannedStream; readonly ended: Promise<void> }>()
  /** Streams whose pumps ended since the plan was begun: it may show them as they were before. */
  readonly #outdated = new Set<string>()
  /** What is due by the latest plan and waits for a place, the most urgent first. */
  #queue: PlannedStream[] = []
  #rooms: Rooms = new Map()
  /** Aborts when the next pump ends. */
  #ending = new AbortController()

  constructor(deps: PumpLoopDeps, signal: AbortSignal) {
    this.#deps = deps
    this.#signal = signal
  }

  /** Plans once and starts what is due, for a second. False when nothing is to be pumped. Throws what planning throws. */
  async turn(): Promise<boolean> {
    const { clock, plan, places, inMs, shortestMs } = this.#deps
    const beganMs = clock.monotonic()
    this.#outdated.clear()
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
    this.#queue = due
    this.#rooms = roomsOf(places, wanted)
    this.#fill()
    const restMs = Math.max(shortestMs, restAfterMs(plannedMs - beganMs))
    if (restMs > 0) await clock.sleep(restMs, this.#signal)
    if (wanted.length === 0) return false
    for (;;) {
      const isQueued = this.#queue.length > 0
      const leftMs = plannedMs + (isQueued ? turnMs : nextMs) - clock.monotonic()
      if (leftMs <= 0 || (!isQueued && this.#outdated.size > 0)) return true
      await this.#untilOneEnds(leftMs)
    }
  }

  /** Resolves when no pump runs any more. Starts none meanwhile. */
  async drained(): Promise<void> {
    this.#queue = []
    while (this.#running.size > 0) await Promise.all([...this.#running.values()].map(({ ended }) => ended))
  }

  /** Starts what waits for a place, as long as there are places. */
  #fill(): void {
    const running = [...this.#running.values()].map(({ planned }) => planned)
    while (this.#queue.length > 0 && !this.#signal.aborted) {
      const next = takeNext(this.#queue, running, this.#rooms)
      if (next === undefined) return
      const key = streamKey(next.stream)
      if (this.#running.has(key) || this.#outdated.has(key) || this.#deps.inMs(next) > 0) continue
      this.#start(key, next)
      running.push(next)
    }
  }

  #start(key: string, planned: PlannedStream): void {
    const ended = this.#deps.pump(planned).finally(() => {
      this.#running.delete(key)
      this.#outdated.add(key)
      this.#fill()
      this.#ending.abort()
      this.#ending = new AbortController()
    })
    this.#running.set(key, { planned, ended })
  }

  /** Resolves after `mostMs` at the latest. Rejects when the loop is to end. */
  async #untilOneEnds(mostMs: number): Promise<void> {
    const { signal } = this.#ending
    try {
      await this.#deps.clock.sleep(mostMs, AbortSignal.any([this.#signal, signal]))
    } catch (error) {
      if (this.#signal.aborted || !signal.aborted) throw error
    }
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
