import { daysFrom, firstReadable } from '../domain/day.ts'
import { isFailure, type Failure } from '../domain/failure.ts'
import { todayOf } from '../domain/stream-state.ts'
import { streamKey, type Stream, type Zone } from '../domain/stream.ts'
import { noTrust } from '../domain/trust.ts'
import type { Sink } from '../ports.ts'
import { settleStream } from './pump-stream.ts'
import type { PumpDeps } from './session.ts'

export interface LeftoversDeps extends PumpDeps {
  readonly zones: readonly Zone[]
  readonly sinks: ReadonlyMap<string, Sink>
}

/**
 * What stands in a sink beyond the last commit although nobody is about to pump its stream: lines of a killed process,
 * of one that was frozen while another finished its stream, or of a commit that a store which came back older has lost.
 * Every pump brings its stream back to its receipts when it begins; here that is done for streams which need not be
 * pumped for hours, or ever again.
 */
export interface Leftovers {
  /** To be called around each pump: one that ends in an error may leave lines, and one that begins accounts for them. */
  watch<Result>(stream: Stream, pump: () => Promise<Result>): Promise<Result>
  /** The store was away, and may be older than it was. */
  suspectAll(): void
  /** Looks at suspected streams; at all of them now and then. Streams that others hold are looked at again later. */
  settle(signal: AbortSignal): Promise<void>
  /** Looks at all streams. Both look at the others too where one fails, and throw the first failure in the end. */
  settleAll(signal: AbortSignal): Promise<void>
}

const allEveryMs = 600_000

/** True for what one stream of a sink may meet while the store and the other streams are well. */
export function isOfSink(error: unknown): error is Failure {
  return isFailure(error) && !['store_unavailable', 'store_refuses', 'cancelled'].includes(error.code)
}

export function createLeftovers(deps: LeftoversDeps): Leftovers {
  const { store, clock, sinks } = deps
  const zones = new Map(deps.zones.map((zone) => [zone.id, zone]))
  const suspects = new Map<string, Stream>()
  const pumped = new Map<string, number>()
  let allAtMs = -Infinity

  /** The streams of the store and, since it may have lost some, of all days that can be read. */
  async function suspectEach(): Promise<void> {
    for (const { stream } of await store.list()) suspects.set(streamKey(stream), stream)
    for (const { id: zone, account } of zones.values()) {
      const today = todayOf(deps.apiClock.now(account))
      const days = daysFrom(firstReadable(today, deps.policy().readableDays), today)
      for (const sink of sinks.keys())
        for (const day of days) suspects.set(streamKey({ zone, day, sink }), { zone, day, sink })
    }
  }

  /** False where another process holds the stream. */
  async function settleOne(stream: Stream, signal: AbortSignal): Promise<boolean> {
    const zone = zones.get(stream.zone)
    const sink = sinks.get(stream.sink)
    if (zone === undefined || sink?.holdsMore === undefined) return true
    const receipts = (await store.read(stream))?.receipts ?? []
    if (!(await sink.holdsMore(stream, { storeId: store.id, receipts }))) return true
    // A pump that began meanwhile brings it back itself, and must not lose its fence to this.
    if (pumped.has(streamKey(stream))) return true
    try {
      await settleStream(
        { stream, zone, sink, lane: 'live', trust: noTrust, mayGoOn: () => false },
        deps,
        signal,
      )
      return true
    } catch (error) {
      if (isFailure(error, 'held') || isFailure(error, 'fence_lost')) return false
      throw error
    }
  }

  async function settleSuspects(signal: AbortSignal): Promise<void> {
    // Those that stay suspected come to the end of the list, for the next time.
    const round = [...suspects.values()]
    let first: Failure | undefined
    for (const stream of round) {
      if (signal.aborted) return
      const key = streamKey(stream)
      if (pumped.has(key)) continue
      // Before it is looked at: what is suspected meanwhile is looked at again.
      suspects.delete(key)
      let isSettled = false
      try {
        isSettled = await settleOne(stream, signal)
      } catch (error) {
        // A folder that one stream cannot have is no reason to leave the others as they are.
        if (signal.aborted || !isOfSink(error)) throw error
        first ??= error
      } finally {
        if (!isSettled) suspects.set(key, stream)
      }
    }
    if (first !== undefined) throw first
  }

  async function settleAll(signal: AbortSignal): Promise<void> {
    await suspectEach()
    allAtMs = clock.monotonic()
    await settleSuspects(signal)
  }

  return {
    async watch(stream, pump) {
      const key = streamKey(stream)
      pumped.set(key, (pumped.get(key) ?? 0) + 1)
      try {
        return await pump()
      } catch (error) {
        // Who did not get the stream wrote nothing.
        if (!isFailure(error, 'held')) suspects.set(key, stream)
        throw error
      } finally {
        const left = pumped.get(key)! - 1
        if (left === 0) pumped.delete(key)
        else pumped.set(key, left)
      }
    },
    suspectAll() {
      allAtMs = -Infinity
    },
    settleAll,
    async settle(signal) {
      if (clock.monotonic() - allAtMs >= allEveryMs) await settleAll(signal)
      else await settleSuspects(signal)
    },
  }
}
