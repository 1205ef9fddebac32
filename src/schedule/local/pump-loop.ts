import type { PlannedStream } from '../../domain/plan/plan.ts'
import { streamKey, type Priority } from '../../domain/stream.ts'
import type { Clock } from '../../ports/process.ts'
import { sharesOf } from '../pumping.ts'

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
/** Planning takes about a fifth of the time at most, however many streams there are. */
const restShare = 4
const longestRestMs = 5_000

/** Plans, and pumps in a bounded pool what is due. `signal` ends its waits. */
export class PumpLoop {
  readonly #deps: PumpLoopDeps
  readonly #signal: AbortSignal
  readonly #pool = new Pool()
  /** Streams whose pumps ended since the plan was begun: it may show them as they were before. */
  readonly #outdated = new Set<string>()
  #hasEnded = false

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
    this.#hasEnded = false
    const planned = await plan()
    const plannedMs = clock.monotonic()
    const leftMs = (wholeMs: number) => plannedMs + wholeMs - clock.monotonic()
    const restMs = Math.max(shortestMs, Math.min((plannedMs - beganMs) * restShare, longestRestMs))
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
    const take = this.#pool.taker(places, wanted)
    while (queue.length > 0 && leftMs(Math.max(turnMs, restMs)) > 0) {
      const next = take(queue)
      if (next === undefined) await this.#pool.next(clock, leftMs(Math.max(turnMs, restMs)), this.#signal)
      else if (inMs(next) <= 0 && this.#mayStart(next)) this.#pool.run(next, () => this.#pump(next))
    }
    if (leftMs(restMs) > 0) await clock.sleep(leftMs(restMs), this.#signal)
    const idleMs = Math.min(leftMs(turnMs), nextMs)
    if (idleMs > 0 && !this.#hasEnded) await this.#pool.next(clock, idleMs, this.#signal)
    return true
  }

  /** Resolves when no pump runs any more. */
  drained(): Promise<void> {
    return this.#pool.drained()
  }

  #mayStart(planned: PlannedStream): boolean {
    return !this.#pool.has(planned) && !this.#outdated.has(streamKey(planned.stream))
  }

  async #pump(planned: PlannedStream): Promise<void> {
    await this.#deps.pump(planned)
    this.#outdated.add(streamKey(planned.stream))
    this.#hasEnded = true
  }
}

/** How many streams of each priority are pumped at once. */
export type Places = Readonly<Record<Priority, number>>

const priorities: readonly Priority[] = ['live', 'backfill']

/** Pumps in this process: one at a time on a stream, as many of each priority as it has places, shared by the sinks. */
export class Pool {
  readonly #running = new Map<string, Promise<void>>()
  /** How many run by priority, and by priority and sink. */
  readonly #counts = new Map<string, number>()
  /** Callers that wait for a pump to end. `Promise.race` would leave a handler on each running one. */
  readonly #waiting = new Set<AbortController>()

  has({ stream }: PlannedStream): boolean {
    return this.#running.has(streamKey(stream))
  }

  /**
   * Returns a function that removes the first stream with a free place from a queue; undefined while there is none.
   * `wanted` are all that share the places.
   */
  taker(places: Places, wanted: readonly PlannedStream[]) {
    const sinks = Map.groupBy(wanted, ({ priority }) => priority)
    const shares = new Map(
      priorities.flatMap((priority) => {
        const own = new Set(sinks.get(priority)?.map(({ stream }) => stream.sink))
        return [...sharesOf(places[priority], [...own])].map(([sink, share]) => [
          `${priority} ${sink}`,
          share,
        ])
      }),
    )
    const hasPlaces = (priority: Priority) => (this.#counts.get(priority) ?? 0) < places[priority]
    return (queue: PlannedStream[]): PlannedStream | undefined => {
      const isFree = new Map<string, boolean>()
      const free = priorities.filter(hasPlaces)
      if (free.length === 0) return undefined
      const at = queue.findIndex((each) => {
        if (!free.includes(each.priority)) return false
        const group = groupOf(each)
        const known = isFree.get(group) ?? (this.#counts.get(group) ?? 0) < (shares.get(group) ?? 1)
        isFree.set(group, known)
        return known
      })
      return at === -1 ? undefined : queue.splice(at, 1)[0]
    }
  }

  /** Starts the work, which must not reject. */
  run(planned: PlannedStream, work: () => Promise<void>): void {
    const key = streamKey(planned.stream)
    this.#count(planned, 1)
    const ended = work().finally(() => {
      this.#running.delete(key)
      this.#count(planned, -1)
      for (const waiter of this.#waiting) waiter.abort()
    })
    this.#running.set(key, ended)
  }

  /** Resolves when a running pump ends, after `mostMs` at the latest. Rejects when the signal aborts. */
  async next(clock: Clock, mostMs: number, signal: AbortSignal): Promise<void> {
    const waiter = new AbortController()
    this.#waiting.add(waiter)
    try {
      await clock.sleep(mostMs, AbortSignal.any([signal, waiter.signal]))
    } catch (error) {
      if (signal.aborted || !waiter.signal.aborted) throw error
    } finally {
      this.#waiting.delete(waiter)
    }
  }

  async drained(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.values())
  }

  #count(planned: PlannedStream, change: number): void {
    for (const key of [planned.priority, groupOf(planned)])
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + change)
  }
}

function groupOf({ priority, stream }: PlannedStream): string {
  return `${priority} ${stream.sink}`
}
