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
  /** Ends when nothing is to be pumped any more. */
  readonly endsWhenDone: boolean
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
  /** Aborts when the next pump ends. */
  #ending = new AbortController()

  constructor(deps: PumpLoopDeps, signal: AbortSignal) {
    this.#deps = deps
    this.#signal = signal
  }

  /**
   * Plans once and starts what is due, for a second: the plan is outdated then. False when it has ended. Throws what
   * planning throws.
   */
  async turn(): Promise<boolean> {
    const { clock, plan, places, inMs, shortestMs, endsWhenDone } = this.#deps
    const beganMs = clock.monotonic()
    this.#outdated.clear()
    const planned = await plan()
    const plannedMs = clock.monotonic()
    const leftMs = (wholeMs: number) => plannedMs + wholeMs - clock.monotonic()
    const restMs = Math.max(shortestMs, restAfterMs(plannedMs - beganMs))
    const queue: PlannedStream[] = []
    const wanted: PlannedStream[] = []
    let nextMs = Infinity
    for (const each of planned) {
      const ms = inMs(each)
      if (ms === Infinity) continue
      wanted.push(each)
      if (ms > 0) nextMs = Math.min(nextMs, ms)
      else if (this.#mayStart(each)) queue.push(each)
    }
    if (wanted.length === 0 && endsWhenDone) return false
    const shares = sharesIn(places, wanted)
    while (queue.length > 0 && leftMs(Math.max(turnMs, restMs)) > 0) {
      const running = [...this.#running.values()].map((each) => each.planned)
      const next = takeNext(queue, running, { places, shares })
      if (next === undefined) await this.#untilOneEnds(leftMs(Math.max(turnMs, restMs)))
      else if (inMs(next) <= 0 && this.#mayStart(next)) this.#start(next)
    }
    if (leftMs(restMs) > 0) await clock.sleep(leftMs(restMs), this.#signal)
    const idleMs = Math.min(leftMs(turnMs), nextMs)
    if (idleMs > 0 && this.#outdated.size === 0) await this.#untilOneEnds(idleMs)
    return true
  }

  /** Resolves when no pump runs any more. */
  async drained(): Promise<void> {
    while (this.#running.size > 0) await Promise.all([...this.#running.values()].map(({ ended }) => ended))
  }

  #mayStart({ stream }: PlannedStream): boolean {
    return !this.#running.has(streamKey(stream)) && !this.#outdated.has(streamKey(stream))
  }

  #start(planned: PlannedStream): void {
    const key = streamKey(planned.stream)
    const ended = this.#deps.pump(planned).finally(() => {
      this.#running.delete(key)
      this.#outdated.add(key)
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

/** Places of each sink in each priority. */
type Shares = ReadonlyMap<string, number>

/** `wanted` are all streams that share the places. */
export function sharesIn(places: Places, wanted: readonly PlannedStream[]): Shares {
  return new Map(
    priorities.flatMap((priority) => {
      const own = wanted.filter((each) => each.priority === priority).map(({ stream }) => stream.sink)
      const shares = [...sharesOf(places[priority], [...new Set(own)])]
      return shares.map(([sink, share]) => [`${priority} ${sink}`, share] as const)
    }),
  )
}

/** Removes the first stream with a free place from a queue; undefined while there is none. */
export function takeNext(
  queue: PlannedStream[],
  running: readonly PlannedStream[],
  { places, shares }: { readonly places: Places; readonly shares: Shares },
): PlannedStream | undefined {
  const used = new Map<string, number>()
  for (const each of running)
    for (const group of [each.priority, groupOf(each)]) used.set(group, (used.get(group) ?? 0) + 1)
  const isFree = (group: string, most: number) => (used.get(group) ?? 0) < most
  const at = queue.findIndex((each) => {
    const group = groupOf(each)
    return isFree(each.priority, places[each.priority]) && isFree(group, shares.get(group) ?? 1)
  })
  return at === -1 ? undefined : queue.splice(at, 1)[0]
}

function groupOf({ priority, stream }: PlannedStream): string {
  return `${priority} ${stream.sink}`
}
