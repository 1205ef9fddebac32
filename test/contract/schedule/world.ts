import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import { startOf, type Day } from '../../../src/domain/day.ts'
import { cancelled, Failure } from '../../../src/domain/failure.ts'
import type { InternalEvent } from '../../../src/domain/internal-event.ts'
import type { PlannedStream } from '../../../src/domain/plan/plan.ts'
import { streamKey, type Priority, type Stream } from '../../../src/domain/stream.ts'
import type { Clock } from '../../../src/ports/process.ts'
import { unknownOrdering } from '../../../src/domain/scan/ordering.ts'
import type { Places, ScheduleDeps } from '../../../src/schedule/pumping.ts'
import { createTickTracing } from '../../../src/telemetry/tracing.ts'

const never = new AbortController().signal

/** A small world of streams: when each is due, what a pump does, and what happened. */
export class World<OwnClock extends Clock = Clock> {
  readonly clock: OwnClock
  readonly dueAtMs = new Map<string, number>()
  readonly begun: string[] = []
  readonly ended: string[] = []
  readonly running = new Map<string, number>()
  readonly internalEvents: InternalEvent[] = []
  mostAtOnce = 0
  mostOfOne = 0
  plans = 0
  heartbeats = 0
  housekeeps = 0
  turns = 0
  /** Asked with each plan. */
  planFails: () => boolean = () => false
  planTakesMs = 0
  places: Places = { live: 3, backfill: 1 }
  /** Of every stream without one of its own. */
  checkpoint: Checkpoint | undefined
  /** By zone. */
  readonly checkpoints = new Map<number, Checkpoint>()
  /** Of each zone's streams; set before anything is added. */
  sinkOf: (zone: number) => string = () => 'archive'
  sinks: readonly string[] = ['archive']
  /** The default work takes no time and leaves the stream with nothing more to do. */
  work: ScheduleDeps['pump'] = (planned) => {
    this.rest(planned.stream, planned.priority)
    return Promise.resolve(undefined)
  }

  constructor(clock: OwnClock) {
    this.clock = clock
  }

  add(priority: Priority, zones: readonly number[], dueAtMs = 0): void {
    for (const zone of zones) this.dueAtMs.set(`${priority} ${zone}`, dueAtMs)
  }

  rest(stream: Stream, priority: Priority, untilMs = Infinity): void {
    this.dueAtMs.set(keyOf(stream, priority), untilMs)
  }

  /** What a schedule under test is given. */
  deps(): ScheduleDeps {
    return {
      clock: this.clock,
      places: this.places,
      telemetry: { emit: (internalEvent) => void this.internalEvents.push(internalEvent) },
      plan: async () => {
        this.plans++
        if (this.planFails()) throw new Failure('retry', 'store_unavailable', 'the store is out of reach')
        const planned = this.#planned()
        if (this.planTakesMs > 0) await this.clock.sleep(this.planTakesMs, never)
        return planned
      },
      planned: async (stream, priority) =>
        this.#planned().find((each) => keyOf(each.stream, each.priority) === keyOf(stream, priority)),
      pump: (planned, signal) => this.#pump(planned, signal),
      fail: async () => undefined,
      heartbeat: async () => void this.heartbeats++,
      housekeep: async () => {
        this.housekeeps++
        return true
      },
      reconcile: async () => undefined,
      turned: () => void this.turns++,
      now: () => this.clock.now(),
      tracing: createTickTracing(this.clock, 'test'),
    }
  }

  #planned(): PlannedStream[] {
    return [...this.dueAtMs]
      .map(([key, dueAtMs]) => {
        const [priority, zone] = partsOf(key)
        const stream = streamOf(zone, this.sinkOf(zone))
        const checkpoint = this.checkpoints.get(zone) ?? this.checkpoint
        const wantedAtMs = checkpoint?.trouble === undefined ? dueAtMs : 0
        return { ...plannedStream(stream, priority, dueAtMs), wantedAtMs, checkpoint }
      })
      .sort((left, right) =>
        left.priority === right.priority ? left.dueAtMs - right.dueAtMs : left.priority === 'live' ? -1 : 1,
      )
  }

  async #pump(planned: PlannedStream, signal: AbortSignal): Promise<Failure | undefined> {
    const { stream, priority } = planned
    const key = streamKey(stream)
    const count = (this.running.get(key) ?? 0) + 1
    this.begun.push(keyOf(stream, priority))
    this.running.set(key, count)
    this.mostOfOne = Math.max(this.mostOfOne, count)
    this.mostAtOnce = Math.max(this.mostAtOnce, this.running.size)
    try {
      return await this.work(planned, signal)
    } finally {
      const left = this.running.get(key)! - 1
      if (left > 0) this.running.set(key, left)
      else this.running.delete(key)
      this.ended.push(keyOf(stream, priority))
    }
  }
}

function keyOf(stream: Stream, priority: Priority): string {
  return `${priority} ${stream.zone}`
}

function partsOf(key: string): [Priority, number] {
  const [priority, zone] = key.split(' ')
  return [priority === 'live' ? 'live' : 'backfill', Number(zone)]
}

const day = '2026-11-20' as Day

export function streamOf(zone: number, sink = 'archive'): Stream {
  return { zone, day, sink }
}

/** A stream as a plan names it, with the due time that a test wants. */
export function plannedStream(stream: Stream, priority: Priority, dueAtMs: number): PlannedStream {
  return {
    stream,
    priority,
    zone: { id: stream.zone, name: `zone-${stream.zone}`, account: 'main' },
    checkpoint: undefined,
    state: 'open',
    dueAtMs,
    wantedAtMs: dueAtMs,
    unreadableAtMs: startOf(stream.day) + 3 * 86_400_000,
    ordering: unknownOrdering,
  }
}

/** A pump that ends by an abort only. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(cancelled(signal.reason)), { once: true })
    if (signal.aborted) reject(cancelled(signal.reason))
  })
}
