import { isFailure, type Failure, type FailureCode } from '../domain/failure.ts'
import { troubleOf, type PlannedStream } from '../domain/plan/plan.ts'
import { streamKey, type Priority, type Stream } from '../domain/stream.ts'
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

/** What a sink may recover from, or what lies between this host and it. */
const ofSinks = new Set<FailureCode>([
  'sink_refuses',
  'disk_full',
  'unwritable',
  'timeout',
  'network',
  'tls',
  'server_error',
])
/** A stream waits for this part of its back-off in any case: it may be the only one that its sink refuses. */
const leastWait = 1 / 16

/**
 * Streams that are tried despite their back-off: each once when a process has started, and those of a sink that has
 * taken events of others since they failed. It is seen in their checkpoints, whichever process has delivered.
 */
export function createRetries() {
  /** From when on, by stream. */
  let fromMs: Map<string, number> | undefined
  /** Events that each sink has taken of the planned streams, as of the latest plan. */
  let delivered = new Map<string, number>()

  return {
    /** Call it with each plan. */
    planned(all: readonly PlannedStream[]): void {
      const backedOff = all.filter(({ wantedAtMs, dueAtMs }) => wantedAtMs < dueAtMs)
      fromMs ??= new Map(backedOff.map(({ stream }) => [streamKey(stream), 0]))
      const before = delivered
      delivered = new Map()
      if (backedOff.length === 0) return
      for (const { stream, checkpoint } of all)
        delivered.set(stream.sink, (delivered.get(stream.sink) ?? 0) + (checkpoint?.counters.delivered ?? 0))
      for (const each of backedOff) {
        const { stream, checkpoint } = each
        const trouble = troubleOf(each, checkpoint)
        const hasTaken = delivered.get(stream.sink)! > (before.get(stream.sink) ?? Infinity)
        const key = streamKey(stream)
        if (!hasTaken || fromMs.has(key) || trouble === undefined || !ofSinks.has(trouble.code)) continue
        const { atMs, retryAtMs } = trouble
        fromMs.set(key, atMs + (retryAtMs - atMs) * leastWait)
      }
    },
    /** When the stream may be pumped. */
    dueAtMs({ stream, wantedAtMs, dueAtMs }: PlannedStream): number {
      const at = wantedAtMs < dueAtMs ? fromMs?.get(streamKey(stream)) : undefined
      return at === undefined ? dueAtMs : Math.min(dueAtMs, Math.max(wantedAtMs, at))
    },
    tried: (stream: Stream): void => void fromMs?.delete(streamKey(stream)),
  }
}

const restMs = 5_000
const mostResting = 1_000

/** Streams whose pump ended in a failure that no checkpoint could hold: this process starts no pump on them for 5 s. */
export function createRests({ clock, telemetry }: Pick<ScheduleDeps, 'clock' | 'telemetry'>) {
  const untilMs = new Map<string, number>()
  // By priority: a backfill that gave way does not delay polls of its stream.
  const keyOf = (stream: Stream, priority: Priority) => `${priority} ${streamKey(stream)}`
  return {
    /** Call it with what a pump has thrown. */
    begin(stream: Stream, priority: Priority, error: unknown): void {
      if (untilMs.size >= mostResting) untilMs.clear()
      untilMs.set(keyOf(stream, priority), clock.monotonic() + restMs)
      // A pump that lost its stream or gave way to others has not failed.
      const isKnown = isFailure(error) && (error.kind === 'cancelled' || error.code === 'held')
      if (!isKnown) telemetry.emit({ name: 'PumpFailed', stream, error })
    },
    has: (stream: Stream, priority: Priority): boolean =>
      untilMs.size > 0 && (untilMs.get(keyOf(stream, priority)) ?? -Infinity) > clock.monotonic(),
  }
}
