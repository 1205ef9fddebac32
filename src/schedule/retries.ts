import { isFailure, type FailureCode } from '../domain/failure.ts'
import { troubleOf, type PlannedStream } from '../domain/plan/plan.ts'
import { streamKey, type Priority, type Stream } from '../domain/stream.ts'
import type { ScheduleDeps } from './pumping.ts'

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
