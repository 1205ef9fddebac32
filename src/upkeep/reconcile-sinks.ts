import { committedLengths, type Checkpoint } from '../domain/checkpoint.ts'
import { daysFrom, firstReadable } from '../domain/day.ts'
import { isFailure } from '../domain/failure.ts'
import { todayOf } from '../domain/plan/stream-state.ts'
import { streamKey, type Stream, type Zone } from '../domain/stream.ts'
import type { AnySink } from '../ports/delivery.ts'
import { targetOf } from '../pump/open-sink.ts'
import type { PumpDeps } from '../pump/session.ts'
import { Attempts, ifFree } from '../days/hold-stream.ts'

interface ReconcilerDeps extends PumpDeps {
  readonly zones: () => readonly Zone[]
  readonly sinks: ReadonlyMap<string, AnySink>
}

const allEveryMs = 600_000

/**
 * Removes what a sink holds beyond the last commit although no pump is about to do so: lines of a killed
 * process, of one that was suspended while another finished its stream, or of a commit that a restored older store has
 * lost. A pump reconciles its own stream when it has something for it; this covers streams without news, or without a
 * pump, for hours or forever.
 */
export class SinkReconciler {
  readonly #deps: ReconcilerDeps
  /** Streams whose pump ended in an error, and those that could not be reconciled. */
  readonly #failed = new Map<string, Stream>()
  readonly #pumped = new Set<string>()
  #allAtMs = -Infinity

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps
  }

  /** The store may hold an older state: the next turn reconciles all streams. */
  allAgain = (): void => {
    this.#allAtMs = -Infinity
  }

  /** Call it around each pump: a stream whose pump ends in an error may hold uncommitted lines. */
  async pumping<Result>(stream: Stream, pump: () => Promise<Result>): Promise<Result> {
    const key = streamKey(stream)
    this.#pumped.add(key)
    try {
      return await pump()
    } catch (error) {
      // A pump that could not take the stream wrote nothing.
      if (!isFailure(error, 'held')) this.#failed.set(key, stream)
      throw error
    } finally {
      this.#pumped.delete(key)
    }
  }

  /**
   * Reconciles all streams at first, every ten minutes and after `allAgain`; in between those whose pump failed in this
   * process, and those that could not be reconciled before. Continues with the other streams when one fails, and emits
   * the first failure as `UpkeepFailed` at the end. Throws the Failures of the store.
   */
  async turn(signal: AbortSignal): Promise<void> {
    const nowMs = this.#deps.clock.monotonic()
    const isAll = nowMs >= this.#allAtMs
    // Before the work: a call of `allAgain` meanwhile must count.
    if (isAll) this.#allAtMs = nowMs + allEveryMs
    try {
      if (isAll || this.#failed.size > 0) await this.#reconcileEach(isAll, signal)
    } catch (error) {
      if (isAll) this.allAgain()
      throw error
    }
  }

  async #reconcileEach(isAll: boolean, signal: AbortSignal): Promise<void> {
    const { store, telemetry } = this.#deps
    // One list in place of a question for each of thousands of streams.
    const checkpoints = await store.catalogue.checkpoints()
    const listed = new Map(checkpoints.map((checkpoint) => [streamKey(checkpoint.stream), checkpoint]))
    const attempts = new Attempts()
    for (const [key, stream] of isAll ? this.#streamsOf(checkpoints) : new Map(this.#failed)) {
      if (signal.aborted) return
      // Removed before it is reconciled: a pump that fails meanwhile adds it again.
      this.#failed.delete(key)
      let isDone = false
      const reconcile = async () => void (isDone = await this.#reconcile(stream, listed.get(key), signal))
      try {
        await attempts.make(reconcile, signal)
      } finally {
        if (!isDone) this.#failed.set(key, stream)
      }
    }
    if (attempts.failure !== undefined)
      telemetry.emit({ name: 'UpkeepFailed', task: 'reconciliation', error: attempts.failure })
  }

  /** The streams of the store and, since the store may have lost some, of all days that can be read; by key. */
  #streamsOf(checkpoints: readonly Checkpoint[]): Map<string, Stream> {
    const { apiClock, policy, sinks, zones } = this.#deps
    const streams = checkpoints.map(({ stream }) => stream)
    for (const { id: zone, account } of zones()) {
      const today = todayOf(apiClock.now(account))
      const days = daysFrom(firstReadable(today, policy.readableDays), today)
      for (const sink of sinks.keys()) streams.push(...days.map((day) => ({ zone, day, sink })))
    }
    return new Map(streams.map((stream) => [streamKey(stream), stream]))
  }

  /** False where another pump has the stream; one of this process reconciles it itself, and must not lose its fence. */
  async #reconcile(stream: Stream, listed: Checkpoint | undefined, signal: AbortSignal): Promise<boolean> {
    const { store, zones, sinks } = this.#deps
    const isPumped = () => this.#pumped.has(streamKey(stream))
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
    const isDone = await ifFree({ stream, zone }, this.#deps, async (session) => {
      if ((await store.ledger.dropped(stream)) === 'day') return true
      await using target = targetOf(session, sink, signal)
      await target.open()
      return true
    })
    return isDone ?? false
  }
}
