import { committedLengths, type Checkpoint } from '../../domain/checkpoint.ts'
import { daysFrom, firstReadable } from '../../domain/day.ts'
import { isFailure, type Failure } from '../../domain/failure.ts'
import { todayOf } from '../../domain/plan/stream-state.ts'
import { streamKey, type Stream, type Zone } from '../../domain/stream.ts'
import type { AnySink } from '../../ports/delivery.ts'
import type { Clock } from '../../ports/process.ts'
import { openSink } from '../../pump/open-sink.ts'
import { shortJob } from '../hold-stream.ts'
import { takeStream, type PumpDeps } from '../../pump/session.ts'

interface ReconcilerDeps extends PumpDeps {
  readonly zones: () => readonly Zone[]
  readonly sinks: ReadonlyMap<string, AnySink>
}

/**
 * Removes what a sink holds beyond the last commit although no pump of its stream is about to start: lines of a killed
 * process, of one that was suspended while another finished its stream, or of a commit that a restored older store has
 * lost. Every pump reconciles its own stream when it begins; this covers streams without a pump for hours, or forever.
 */
export interface SinkReconciler {
  /** Call it around each pump: a stream whose pump ends in an error may hold uncommitted lines. */
  pumping<Result>(stream: Stream, pump: () => Promise<Result>): Promise<Result>
  /**
   * Both continue with the other streams when one fails, and emit the first failure as `UpkeepFailed` at the end. Throw
   * the Failures of the store.
   */
  reconcileAll(signal: AbortSignal): Promise<void>
  /** Only streams whose pump failed in this process, or that could not be reconciled before. */
  reconcileFailed(signal: AbortSignal): Promise<void>
}

/** True for a failure of one stream of a sink, which does not concern the store or other streams. */
function isOfSink(error: unknown): error is Failure {
  return isFailure(error) && !['store_unavailable', 'store_refuses', 'cancelled'].includes(error.code)
}

export function createSinkReconciler(deps: ReconcilerDeps): SinkReconciler {
  const failed = new Map<string, Stream>()
  const pumped = new Set<string>()

  async function reconcileEach(streams: readonly Stream[], signal: AbortSignal): Promise<void> {
    if (streams.length === 0) return
    let first: Failure | undefined
    const listed = await listedOf(deps)
    const zones = new Map(deps.zones().map((zone) => [zone.id, zone]))
    for (const stream of streams) {
      if (signal.aborted) return
      const key = streamKey(stream)
      // Removed before it is reconciled: a pump that fails meanwhile adds it again.
      failed.delete(key)
      let isDone = false
      try {
        // A pump of this process reconciles its stream itself, and must not lose its fence to this call.
        isDone =
          !pumped.has(key) &&
          (await reconcileOne(
            { stream, listed: listed.get(key), zone: zones.get(stream.zone) },
            deps,
            () => pumped.has(key),
            signal,
          ))
      } catch (error) {
        if (signal.aborted || !isOfSink(error)) throw error
        first ??= error
      } finally {
        if (!isDone) failed.set(key, stream)
      }
    }
    if (first !== undefined)
      deps.telemetry.emit({ name: 'UpkeepFailed', task: 'reconciliation', error: first })
  }

  return {
    async pumping(stream, pump) {
      const key = streamKey(stream)
      pumped.add(key)
      try {
        return await pump()
      } catch (error) {
        // A pump that could not take the stream wrote nothing.
        if (!isFailure(error, 'held')) failed.set(key, stream)
        throw error
      } finally {
        pumped.delete(key)
      }
    },
    reconcileAll: async (signal) => reconcileEach(await streamsOf(deps), signal),
    reconcileFailed: (signal) => reconcileEach([...failed.values()], signal),
  }
}

const allEveryMs = 600_000

export interface ReconcileTurns {
  /** Call it now and then. Throws the Failures of the store; then the next call reconciles all streams. */
  readonly turn: (signal: AbortSignal) => Promise<void>
  /** The store may hold an older state: the next turn reconciles all streams. */
  readonly allAgain: () => void
}

/** Reconciles all streams at first and every ten minutes, and those that could not be reconciled at each turn. */
export function createReconcileTurns(
  reconciler: Pick<SinkReconciler, 'reconcileAll' | 'reconcileFailed'>,
  clock: Pick<Clock, 'monotonic'>,
): ReconcileTurns {
  let allAtMs = -Infinity
  const allAgain = () => {
    allAtMs = -Infinity
  }
  return {
    allAgain,
    async turn(signal) {
      if (clock.monotonic() < allAtMs) return await reconciler.reconcileFailed(signal)
      // Before the work: a call of `allAgain` meanwhile must count.
      allAtMs = clock.monotonic() + allEveryMs
      try {
        await reconciler.reconcileAll(signal)
      } catch (error) {
        allAgain()
        throw error
      }
    },
  }
}

/** One list in place of a question for each of thousands of streams. */
async function listedOf({ store }: ReconcilerDeps): Promise<ReadonlyMap<string, Checkpoint>> {
  const checkpoints = await store.catalogue.checkpoints()
  return new Map(checkpoints.map((checkpoint) => [streamKey(checkpoint.stream), checkpoint]))
}

/** The streams of the store and, since the store may have lost some, of all days that can be read. */
async function streamsOf({ store, zones, sinks, apiClock, policy }: ReconcilerDeps): Promise<Stream[]> {
  const streams = (await store.catalogue.checkpoints()).map(({ stream }) => stream)
  for (const { id: zone, account } of zones()) {
    const today = todayOf(apiClock.now(account))
    const days = daysFrom(firstReadable(today, policy.readableDays), today)
    for (const sink of sinks.keys()) streams.push(...days.map((day) => ({ zone, day, sink })))
  }
  return [...new Map(streams.map((stream) => [streamKey(stream), stream])).values()]
}

/** False where another pump has the stream. */
async function reconcileOne(
  {
    stream,
    listed,
    zone,
  }: { readonly stream: Stream; readonly listed: Checkpoint | undefined; readonly zone: Zone | undefined },
  deps: ReconcilerDeps,
  isPumped: () => boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const { store } = deps
  const sink = deps.sinks.get(stream.sink)
  if (zone === undefined || sink === undefined || !('reconcile' in sink)) return true
  const isAhead = (checkpoint: Checkpoint | undefined) =>
    sink.hasUncommitted(stream, committedLengths(store.id, checkpoint))
  // A list may be older than the files, never newer: what looks committed is, and a stream that is not listed has
  // nothing uncommitted while it has no files. The rest is compared with what is stored now.
  if (!(await isAhead(listed))) return true
  if (!(await isAhead(await store.ledger.read(stream)))) return true
  if (isPumped()) return false
  try {
    await using session = await takeStream(shortJob({ stream, zone }), deps)
    const target = await openSink(session, sink, signal)
    await target[Symbol.asyncDispose]()
    return true
  } catch (error) {
    if (isFailure(error, 'held') || isFailure(error, 'fence_lost')) return false
    throw error
  }
}
