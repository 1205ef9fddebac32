import type { Failure } from '../../../src/domain/failure.ts'
import { cancelled } from '../../../src/domain/failure.ts'
import type { InternalEvent } from '../../../src/domain/internal-event.ts'
import type { PlannedStream } from '../../../src/domain/plan/plan.ts'
import { streamKey, type Priority } from '../../../src/domain/stream.ts'
import { plannedStream, streamOf } from '../../contract/schedule/planned.ts'
import { createFakeClock, type FakeClock } from '../../fakes/fake-clock.ts'

type Work = (planned: PlannedStream, signal: AbortSignal) => Promise<Failure | undefined>

/** Streams, a clock that only the test moves, and what a schedule did with them. */
export interface Workshop {
  readonly clock: FakeClock
  readonly begun: string[]
  readonly running: Map<string, number>
  readonly internalEvents: InternalEvent[]
  mostAtOnce: number
  plans: number
  plan: () => Promise<PlannedStream[]>
  work: Work
  /** When the streams of these zones are due; Infinity: they want nothing more. */
  due(zones: readonly number[], atMs: number, priority?: Priority): void
  pump(planned: PlannedStream, signal: AbortSignal): Promise<Failure | undefined>
}

export function createWorkshop(): Workshop {
  const clock = createFakeClock()
  const dues = new Map<string, { zone: number; priority: Priority; atMs: number }>()
  const workshop: Workshop = {
    clock,
    begun: [],
    running: new Map(),
    internalEvents: [],
    mostAtOnce: 0,
    plans: 0,
    plan: async () => {
      workshop.plans++
      return [...dues.values()]
        .sort((left, right) => (left.atMs === right.atMs ? left.zone - right.zone : left.atMs - right.atMs))
        .map(({ zone, priority, atMs }) => plannedStream(streamOf(zone), priority, atMs))
    },
    work: async ({ stream, priority }) => {
      workshop.due([stream.zone], Infinity, priority)
      return undefined
    },
    due(zones, atMs, priority = 'live') {
      for (const zone of zones) dues.set(`${zone} ${priority}`, { zone, priority, atMs })
    },
    async pump(planned, signal) {
      const key = streamKey(planned.stream)
      if (workshop.running.has(key)) throw new Error(`${key} is pumped twice at once`)
      workshop.begun.push(`${planned.stream.zone}`)
      workshop.running.set(key, clock.now())
      workshop.mostAtOnce = Math.max(workshop.mostAtOnce, workshop.running.size)
      try {
        return await workshop.work(planned, signal)
      } finally {
        workshop.running.delete(key)
      }
    },
  }
  return workshop
}

/** A pump that ends by an abort only. */
export function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(cancelled())
    signal.addEventListener('abort', () => reject(cancelled()), { once: true })
  })
}
