import { systemClock } from '../../clock.ts'
import type { Config } from '../../config/schema/schema.ts'
import type { DeadLetter, RefusalReason } from '../../domain/event/delivery.ts'
import type { Event, Identity } from '../../domain/event/event.ts'
import { isFailure, messageOf } from '../../domain/failure.ts'
import { streamKey, type Stream, type Zone } from '../../domain/stream.ts'
import type { DeadLetterCount } from '../../domain/event/dead-letter-count.ts'
import type { Store } from '../../ports/store.ts'
import type { AnySink } from '../../ports/sink.ts'
import { dropDeadLetters } from '../../maintenance/dead-letters/drop-dead-letters.ts'
import { withHeartbeat } from '../../pump/heartbeat.ts'
import { replayStream } from '../../maintenance/dead-letters/replay.ts'
import { wakeFullStreams } from '../../maintenance/dead-letters/wake-full-streams.ts'
import { eventAgain } from '../../shield/entries/event-again.ts'
import { createRedactor } from '../../shield/redaction/redact.ts'
import { openExistingStore } from './existing-store.ts'
import { createGround, createHolder, zonesOf } from '../ground.ts'
import { createShipping, type Shipping } from '../shipping.ts'

export type { DeadLetterCount }

/** What sinks refused, oldest first; none where there is no store. Throws Failure. */
export async function listDeadLetters(config: Config): Promise<DeadLetter[]> {
  const store = await openExistingStore(config, systemClock)
  if (store === undefined) return []
  try {
    return await store.deadLetters.list()
  } finally {
    await store.close()
  }
}

/** Dead letters of one stream, as they stood when they were asked for. */
export interface DeadLetterGroup {
  readonly stream: Stream
  readonly counts: readonly DeadLetterCount[]
  readonly keys: readonly Identity[]
}

export type ReasonCounts = ReadonlyMap<RefusalReason, number>

/** What a replay did for one sink. */
export interface SinkReplay {
  readonly sink: string
  readonly delivered: number
  /** Refused again, by the newer reason. */
  readonly refused: ReasonCounts
  /** Settled by somebody else meanwhile, or by a replay that was killed before it could say so. */
  readonly gone: number
  /** Not tried, or not told what became of them: they are kept as they were. */
  readonly left: number
  /** Why it ended before its end; absent where it did not. */
  readonly error?: string
}

/** Replays and drops dead letters, beside a running process or without one. */
export interface DeadLetterDesk {
  /** Counts by stream and reason; none where nothing was ever shipped. */
  counts(): Promise<DeadLetterCount[]>
  /** The streams of these counts, with whose dead letters they are. */
  groups(counts: readonly DeadLetterCount[]): Promise<DeadLetterGroup[]>
  /** Goes on with the next sink where one fails, and ends early when it is stopped. Throws the Failures of a store. */
  replay(
    groups: readonly DeadLetterGroup[],
    progressed: (sink: string, done: number) => void,
    signal: AbortSignal,
  ): Promise<SinkReplay[]>
  /** Throws Failure. */
  drop(
    groups: readonly DeadLetterGroup[],
    signal: AbortSignal,
  ): Promise<{ sink: string; counts: ReasonCounts }[]>
}

/** Opens the store that is there, and closes it when the work is done. Throws Failure. */
export async function withDeadLetterDesk<Result>(
  config: Config,
  work: (desk: DeadLetterDesk) => Promise<Result>,
): Promise<Result> {
  const store = await openExistingStore(config, systemClock)
  if (store === undefined) return work(emptyDesk)
  try {
    return await work(createDeadLetterDesk(config, store))
  } finally {
    await store.close()
  }
}

const emptyDesk: DeadLetterDesk = {
  counts: () => Promise.resolve([]),
  groups: () => Promise.resolve([]),
  replay: () => Promise.resolve([]),
  drop: () => Promise.resolve([]),
}

/** Over a store that is open. */
export function createDeadLetterDesk(config: Config, store: Store, clock = systemClock): DeadLetterDesk {
  const zones = new Map(zonesOf(config).map((zone) => [zone.id, zone]))
  // A zone that left the configuration may have some still.
  const zoneOf = (id: number): Zone => zones.get(id) ?? { id, name: String(id), account: '' }
  const redactor = createRedactor(config.redact)
  const redo = (event: Event): Event => eventAgain(event, zones.get(event.zone.id) ?? event.zone, redactor)

  /** With the parts that ship, under the name of a holder that is heard from. */
  async function withShipping<Result>(
    signal: AbortSignal,
    work: (shipping: Shipping) => Promise<Result>,
  ): Promise<Result> {
    const ground = createGround(config, { logLevel: 'silent', clock })
    const holder = createHolder(false)
    const shipping = createShipping(config, ground, { store, holder })
    try {
      return await withHeartbeat({ store, clock, holder }, async () => {
        const result = await work(shipping)
        if (!signal.aborted) await wakeFullStreams(shipping.deps, zoneOf, signal)
        return result
      })
    } finally {
      await shipping.close()
    }
  }

  async function replaySink(
    sink: AnySink | undefined,
    groups: readonly DeadLetterGroup[],
    { deps }: Shipping,
    told: (done: number) => void,
    signal: AbortSignal,
  ): Promise<Omit<SinkReplay, 'sink'>> {
    let [delivered, gone, left] = [0, 0, 0]
    for (const { keys } of groups) left += keys.length
    const refused = new Map<RefusalReason, number>()
    if (sink === undefined) {
      const error = 'it is not configured: name it in the configuration, or drop them'
      return { delivered, refused, gone, left, error }
    }
    try {
      for (const { stream, keys } of groups)
        await replayStream(
          {
            stream,
            zone: zoneOf(stream.zone),
            sink,
            redo,
            keys,
            done(page) {
              left -= page.tried
              delivered += page.delivered
              gone += page.tried - page.delivered - page.kept.length
              for (const { reason } of page.kept) refused.set(reason, (refused.get(reason) ?? 0) + 1)
              told(page.tried)
            },
          },
          deps,
          signal,
        )
      return { delivered, refused, gone, left }
    } catch (error) {
      if (!isFailure(error) || error.code === 'store_unavailable' || error.code === 'store_refuses')
        throw error
      return { delivered, refused, gone, left, error: signal.aborted ? 'stopped' : messageOf(error) }
    }
  }

  return {
    counts: () => store.deadLetters.counts(),
    async groups(counts) {
      const byStream = Map.groupBy(counts, streamKey)
      const groups: DeadLetterGroup[] = []
      for (const own of byStream.values()) {
        const { zone, day, sink } = own[0]!
        const stream = { zone, day, sink }
        groups.push({ stream, counts: own, keys: await store.deadLetters.keys(stream) })
      }
      return groups
    },
    replay: (groups, progressed, signal) =>
      withShipping(signal, async (shipping) => {
        const results: SinkReplay[] = []
        for (const [name, own] of Map.groupBy(groups, ({ stream }) => stream.sink)) {
          const told = (done: number) => progressed(name, done)
          const sink = shipping.sinks.get(name)
          results.push({ sink: name, ...(await replaySink(sink, own, shipping, told, signal)) })
        }
        return results
      }),
    drop: (groups, signal) =>
      withShipping(signal, async ({ deps }) => {
        const results: { sink: string; counts: ReasonCounts }[] = []
        for (const [sink, own] of Map.groupBy(groups, ({ stream }) => stream.sink)) {
          const counts = new Map<RefusalReason, number>()
          for (const { stream, keys } of own) {
            const job = { stream, zone: zoneOf(stream.zone), keys }
            for (const [reason, count] of await dropDeadLetters(job, deps, signal))
              counts.set(reason, (counts.get(reason) ?? 0) + count)
          }
          results.push({ sink, counts })
        }
        return results
      }),
  }
}
