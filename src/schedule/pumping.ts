import type { Failure } from '../domain/failure.ts'
import type { PlannedStream } from '../domain/plan/plan.ts'
import type { Priority, Stream } from '../domain/stream.ts'
import type { Clock, Telemetry, TickTracing } from '../ports/process.ts'

/** How many streams of each priority a process pumps at once; the sinks share them. */
export type Places = Readonly<Record<Priority, number>>

/** Dependencies of every kind of schedule. */
export interface ScheduleDeps {
  readonly clock: Clock
  readonly places: Places
  readonly telemetry: Telemetry
  /** All planned streams, the most urgent first. */
  readonly plan: () => Promise<readonly PlannedStream[]>
  /** One stream by the present state of the store; undefined where this configuration does not plan it. */
  readonly planned: (stream: Stream, priority: Priority) => Promise<PlannedStream | undefined>
  readonly pump: (planned: PlannedStream, signal: AbortSignal) => Promise<Failure | undefined>
  /** Commits a failure for a pump whose process died, so that the stream backs off. Throws Failure. */
  readonly fail: (planned: PlannedStream, failure: Failure) => Promise<void>
  readonly now: (planned: PlannedStream) => number
  /** Records that this process is alive; called every 5 s. */
  readonly heartbeat: () => Promise<void>
  /** Periodic work; called every ten minutes, and soon again where it resolves with false. */
  readonly housekeep: (signal: AbortSignal) => Promise<boolean>
  /** Removes what sinks hold beyond the last commit; called in processes that pump. */
  readonly reconcile: (signal: AbortSignal) => Promise<void>
  /** Called at each turn of a loop that must keep running, and while Redis is away. For `/healthz`. */
  readonly turned: (loop: 'schedule' | 'tick' | 'worker') => void
  readonly tracing: TickTracing
}

export const oftenMs = 5_000
export const housekeepMs = 600_000
export const priorities: readonly Priority[] = ['live', 'backfill']

/**
 * How many of the places of a priority each sink has; the first ones have one more where they do not divide evenly. A
 * sink that hangs occupies only its own places; the other sinks keep theirs. With more sinks than places each has one.
 */
export function sharesOf(places: number, sinks: readonly string[]): ReadonlyMap<string, number> {
  const each = Math.floor(places / sinks.length)
  const left = places % sinks.length
  return new Map(sinks.map((sink, index) => [sink, Math.max(1, each + (index < left ? 1 : 0))]))
}

/** Planning takes about a fifth of a process's time at most, however many streams there are. */
export function restAfterMs(planningMs: number): number {
  return Math.min(planningMs * 4, 5_000)
}
