import { committedLengths, type Checkpoint } from '../domain/checkpoint.ts'
import { daysFrom, firstReadable } from '../domain/day.ts'
import { isFailure } from '../domain/failure.ts'
import { todayOf } from '../domain/plan/stream-state.ts'
import { streamKey, type Stream, type Zone } from '../domain/stream.ts'
import type { AnySink } from '../ports/delivery.ts'
import { openSink } from '../pump/open-sink.ts'
import type { PumpDeps } from '../pump/session.ts'
import { Attempts, ifFree } from '../days/hold-stream.ts'

interface ReconcilerDeps extends PumpDeps {
  readonly zones: () => readonly Zone[]
  readonly sinks: ReadonlyMap<string, AnySink>
}

const allEveryMs = 600_000

/**
 * Removes what a sink holds beyond the last commit although no pump of its stream is about to start: lines of a killed
 * process, of one that was suspended while another finished its stream, or of a commit that a restored older store has
 * lost. Every pump reconciles its own stream when it begins; this covers streams without a pump for hours, or forever.
 */
export function createSinkReconciler(deps: ReconcilerDeps) {
  const { apiClock, clock, policy, sinks, store, telemetry, zones } = deps
  const failed = new Map<string, Stream>()
  const pumped = new Set<string>()
  let allAtMs = -Infinity
  /** The store may hold an older state: the next turn reconciles all streams. */
  const allAgain = () => void (allAtMs = -Infinity)

  /** The streams of the store and, since the store may have lost some, of all days that can be read; by key. */
  function streamsOf(checkpoints: readonly Checkpoint[]): Map<string, Stream> {
    const streams = checkpoints.map(({ stream }) => stream)
    for (const { id: zone, account } of zones()) {
      const today = todayOf(apiClock.now(account))
      const days = daysFrom(firstReadable(today, policy.readableDays), today)
      for (const sink of sinks.keys()) streams.push(...days.map((day) => ({ zone, day, sink })))
    }
    return new Map(streams.map((stream) => [streamKey(stream), stream]))
  }

  /** False where another pump has the stream; one of this process reconciles it itself, and must not lose its fence. */
  async function reconcileOne(
    stream: Stream,
    listed: Checkpoint | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const isPumped = () => pumped.has(streamKey(stream))
    const zone = zones().find(({ id }) => id === stream.zone)
    const sink = sinks.get(stream.sink)
    if (isPumped()) return false
    if (zone === undefined || sink === undefined || !('reconcile' in sink)) return true
    const isAhead = (checkpoint: Checkpoint | undefined) =>
      sink.hasUncommitted(stream, committedLengths(store.id, checkpoint))
    // A list may be older than the files, never newer: what looks committed is, and a stream that is not listed has
    // nothing uncommitted while it has no files. The rest is compared with what is stored now.
    if (!(await isAhead(listed)) || !(await isAhead(await store.ledger.read(stream)))) return true
    if (isPumped()) return false
    const isDone = await ifFree({ stream, zone }, deps, async (session) => {
      if ((await store.ledger.dropped(stream)) === 'day') return true
      await using _ = await openSink(session, sink, signal)
      return true
    })
    return isDone ?? false
  }

  async function reconcileEach(isAll: boolean, signal: AbortSignal): Promise<void> {
    if (!isAll && failed.size === 0) return
    // One list in place of a question for each of thousands of streams.
    const checkpoints = await store.catalogue.checkpoints()
    const listed = new Map(checkpoints.map((checkpoint) => [streamKey(checkpoint.stream), checkpoint]))
    const attempts = new Attempts()
    for (const [key, stream] of isAll ? streamsOf(checkpoints) : new Map(failed)) {
      if (signal.aborted) return
      // Removed before it is reconciled: a pump that fails meanwhile adds it again.
      failed.delete(key)
      let isDone = false
      const reconcile = async () => void (isDone = await reconcileOne(stream, listed.get(key), signal))
      try {
        await attempts.make(reconcile, signal)
      } finally {
        if (!isDone) failed.set(key, stream)
      }
    }
    if (attempts.failure !== undefined)
      telemetry.emit({ name: 'UpkeepFailed', task: 'reconciliation', error: attempts.failure })
  }

  return {
    /** Call it around each pump: a stream whose pump ends in an error may hold uncommitted lines. */
    async pumping<Result>(stream: Stream, pump: () => Promise<Result>): Promise<Result> {
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
    /**
     * Reconciles all streams at first, every ten minutes and after `allAgain`; in between those whose pump failed in this
     * process, and those that could not be reconciled before. Continues with the other streams when one fails, and emits
     * the first failure as `UpkeepFailed` at the end. Throws the Failures of the store.
     */
    async turn(signal: AbortSignal): Promise<void> {
      const isAll = clock.monotonic() >= allAtMs
      // Before the work: a call of `allAgain` meanwhile must count.
      if (isAll) allAtMs = clock.monotonic() + allEveryMs
      try {
        await reconcileEach(isAll, signal)
      } catch (error) {
        if (isAll) allAgain()
        throw error
      }
    },
    allAgain,
  }
}
