import { systemClock } from '../../../src/clock.ts'
import { Failure } from '../../../src/domain/failure.ts'
import type { InternalEvent } from '../../../src/domain/internal-event.ts'
import type { PlannedStream } from '../../../src/domain/plan/plan.ts'
import { streamKey, type Priority, type Stream } from '../../../src/domain/stream.ts'
import type { Clock } from '../../../src/ports/process.ts'
import { RequestGate } from '../../../src/shield/client/account-gate.ts'
import { plannedStream, streamOf } from './planned.ts'

/** What a schedule under test is given; the suite watches what it does with it. */
export interface ScheduleParts {
  readonly clock: Clock
  readonly telemetry: { emit(internalEvent: InternalEvent): void }
  readonly streams: number
  readonly backfillStreams: number
  readonly sinks: readonly string[]
  readonly plan: () => Promise<PlannedStream[]>
  /** One stream as `plan` would name it now. */
  readonly planned: (stream: Stream, priority: Priority) => Promise<PlannedStream | undefined>
  readonly pump: Work
  readonly heartbeat: () => Promise<void>
  readonly housekeep: (signal: AbortSignal) => Promise<boolean>
  readonly turned: () => void
  readonly now: () => number
}

type Work = (planned: PlannedStream, signal: AbortSignal) => Promise<Failure | undefined>

/** A small world of streams: when each is due, what a pump does, and what happened. */
export class World {
  readonly dueAtMs = new Map<string, number>()
  readonly begun: string[] = []
  readonly ended: string[] = []
  readonly running = new Map<string, number>()
  readonly internalEvents: InternalEvent[] = []
  mostAtOnce = 0
  mostOfOne = 0
  plans = 0
  heartbeats = 0
  turns = 0
  planFails = false
  /** Of each zone's streams; set before anything is added. */
  sinkOf: (zone: number) => string = () => 'archive'
  sinks: readonly string[] = ['archive']
  clock: Clock = systemClock
  readonly #gate = new RequestGate({ account: 'main', maxRequestsPerSecond: null }, systemClock)
  /** The default work takes no time and leaves the stream with nothing more to do. */
  work: Work = (planned) => {
    this.rest(planned.stream, planned.priority)
    return Promise.resolve(undefined)
  }

  add(priority: Priority, zones: readonly number[], dueAtMs = 0): void {
    for (const zone of zones) this.dueAtMs.set(`${priority} ${zone}`, dueAtMs)
  }

  rest(stream: Stream, priority: Priority, untilMs = Infinity): void {
    this.dueAtMs.set(keyOf(stream, priority), untilMs)
  }

  /** What a pump does before each page. */
  async enter({ priority }: PlannedStream, signal: AbortSignal): Promise<void> {
    await this.#gate.enter(signal, priority)
  }

  parts(streams: number, backfillStreams: number): ScheduleParts {
    return {
      clock: this.clock,
      telemetry: { emit: (internalEvent) => void this.internalEvents.push(internalEvent) },
      streams,
      backfillStreams,
      sinks: this.sinks,
      plan: async () => {
        this.plans++
        if (this.planFails) throw new Failure('retry', 'store_unavailable', 'the store is out of reach')
        return this.planned()
      },
      planned: async (stream, priority) =>
        this.planned().find((each) => keyOf(each.stream, each.priority) === keyOf(stream, priority)),
      pump: (planned, signal) => this.pump(planned, signal),
      heartbeat: async () => void this.heartbeats++,
      housekeep: async () => true,
      turned: () => void this.turns++,
      now: () => Date.now(),
    }
  }

  private planned(): PlannedStream[] {
    return [...this.dueAtMs]
      .map(([key, dueAtMs]) => {
        const [priority, zone] = partsOf(key)
        return plannedStream(streamOf(zone, this.sinkOf(zone)), priority, dueAtMs)
      })
      .sort((left, right) =>
        left.priority === right.priority ? left.dueAtMs - right.dueAtMs : left.priority === 'live' ? -1 : 1,
      )
  }

  private async pump(...[planned, signal]: Parameters<Work>): Promise<Failure | undefined> {
    const key = streamKey(planned.stream)
    this.begun.push(keyOf(planned.stream, planned.priority))
    this.running.set(key, (this.running.get(key) ?? 0) + 1)
    this.mostOfOne = Math.max(this.mostOfOne, this.running.get(key) ?? 0)
    this.mostAtOnce = Math.max(
      this.mostAtOnce,
      [...this.running.values()].filter((count) => count > 0).length,
    )
    using _ = planned.priority === 'live' ? this.#gate.liveBegins() : undefined
    try {
      return await this.work(planned, signal)
    } finally {
      this.running.set(key, (this.running.get(key) ?? 1) - 1)
      this.ended.push(keyOf(planned.stream, planned.priority))
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
