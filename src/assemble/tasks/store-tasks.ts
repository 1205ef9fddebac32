import { systemClock } from '../../clock.ts'
import type { Config } from '../../config/schema/schema.ts'
import type { DeadLetterCount } from '../../domain/event/dead-letter-count.ts'
import type { DeadLetter, RefusalReason } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { isFailure, messageOf } from '../../domain/failure.ts'
import { streamKey, type Zone } from '../../domain/stream.ts'
import { dropDeadLetters } from '../../maintenance/dead-letters/drop-dead-letters.ts'
import { replayStream } from '../../maintenance/dead-letters/replay.ts'
import type { ReplayedPage } from '../../maintenance/dead-letters/replay-page.ts'
import { wakeFullStreams } from '../../maintenance/dead-letters/wake-full-streams.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'
import { withHeartbeat } from '../../pump/heartbeat.ts'
import { eventAgain } from '../../shield/entries/event-again.ts'
import { createRedactor } from '../../shield/redaction/redact.ts'
import { heldSinks } from '../held-sinks.ts'
import { createQuietRuntime, createHolder, zonesOf } from '../quiet-runtime.ts'
import { createShipping, type Shipping } from '../shipping.ts'
import type { DeadLetterTasks, DeadLetterGroup, ReasonCounts, SinkReplay } from './dead-letter-tasks.ts'

const notConfigured = 'it is not configured; add it to the configuration, or drop them'

interface ReplayOfSink {
  readonly sink: string
  readonly groups: readonly DeadLetterGroup[]
  /** Why nothing may be shipped to it. */
  readonly held: string | undefined
  readonly progressed: (done: number) => void
}

/** Replays and drops the dead letters of a store that is open. */
export class StoreTasks implements DeadLetterTasks {
  readonly #config: Config
  readonly #store: Store
  readonly #clock: Clock
  readonly #zones: ReadonlyMap<number, Zone>
  readonly #redo: (event: Event) => Event

  constructor(config: Config, store: Store, clock = systemClock) {
    this.#config = config
    this.#store = store
    this.#clock = clock
    const zones = new Map(zonesOf(config).map((zone) => [zone.id, zone]))
    this.#zones = zones
    const redactor = createRedactor(config.redact)
    this.#redo = (event) => eventAgain(event, zones.get(event.zone.id) ?? event.zone, redactor)
  }

  list(): Promise<DeadLetter[]> {
    return this.#store.deadLetters.list()
  }

  counts(): Promise<DeadLetterCount[]> {
    return this.#store.deadLetters.counts()
  }

  async groups(counts: readonly DeadLetterCount[]): Promise<DeadLetterGroup[]> {
    const groups: DeadLetterGroup[] = []
    for (const own of Map.groupBy(counts, streamKey).values()) {
      const { zone, day, sink } = own[0]!
      const stream = { zone, day, sink }
      groups.push({ stream, counts: own, keys: await this.#store.deadLetters.keys(stream) })
    }
    return groups
  }

  replay(
    groups: readonly DeadLetterGroup[],
    progressed: (sink: string, done: number) => void,
    signal: AbortSignal,
  ): Promise<SinkReplay[]> {
    return this.#withShipping(true, signal, async (shipping) => {
      const results: SinkReplay[] = []
      const held = await heldSinks(this.#config, this.#store)
      for (const [sink, own] of Map.groupBy(groups, ({ stream }) => stream.sink)) {
        const told = (done: number) => progressed(sink, done)
        const replay = { sink, groups: own, held: held.get(sink), progressed: told }
        results.push({ sink, ...(await this.#replaySink(replay, shipping, signal)) })
      }
      return results
    })
  }

  drop(
    groups: readonly DeadLetterGroup[],
    signal: AbortSignal,
  ): Promise<{ sink: string; counts: ReasonCounts }[]> {
    return this.#withShipping(false, signal, async ({ deps }) => {
      const results: { sink: string; counts: ReasonCounts }[] = []
      for (const [sink, own] of Map.groupBy(groups, ({ stream }) => stream.sink)) {
        const counts = new Map<RefusalReason, number>()
        for (const { stream, keys } of own) {
          const dropped = await dropDeadLetters(
            { stream, zone: this.#zoneOf(stream.zone), keys },
            deps,
            signal,
          )
          for (const [reason, count] of dropped) counts.set(reason, (counts.get(reason) ?? 0) + count)
        }
        results.push({ sink, counts })
      }
      return results
    })
  }

  /** A zone that left the configuration may still have dead letters. */
  #zoneOf(id: number): Zone {
    return this.#zones.get(id) ?? { id, name: String(id), account: '' }
  }

  /** Creates the parts that ship, with a holder that sends heartbeats. */
  async #withShipping<Result>(
    delivers: boolean,
    signal: AbortSignal,
    work: (shipping: Shipping) => Promise<Result>,
  ): Promise<Result> {
    const [store, clock] = [this.#store, this.#clock]
    const runtime = createQuietRuntime({ clock })
    const holder = createHolder(false)
    const shipping = createShipping(this.#config, runtime, { store, holder, delivers })
    try {
      return await withHeartbeat({ store, clock, holder }, async () => {
        const result = await work(shipping)
        if (!signal.aborted) await wakeFullStreams(shipping.deps, (id) => this.#zoneOf(id), signal)
        return result
      })
    } finally {
      await shipping.close()
    }
  }

  async #replaySink(
    { sink: name, groups, held, progressed }: ReplayOfSink,
    { deps, sinks }: Shipping,
    signal: AbortSignal,
  ): Promise<Omit<SinkReplay, 'sink'>> {
    let [delivered, gone, left] = [0, 0, 0]
    for (const { keys } of groups) left += keys.length
    const refused = new Map<RefusalReason, number>()
    const sink = sinks.get(name)
    if (sink === undefined) return { delivered, refused, gone, left, error: notConfigured }
    if (held !== undefined) return { delivered, refused, gone, left, error: held }
    const done = (page: ReplayedPage) => {
      left -= page.tried
      delivered += page.delivered
      gone += page.tried - page.delivered - page.kept.length
      for (const { reason } of page.kept) refused.set(reason, (refused.get(reason) ?? 0) + 1)
      progressed(page.tried)
    }
    try {
      for (const { stream, keys } of groups) {
        const job = { stream, zone: this.#zoneOf(stream.zone), sink, redo: this.#redo, keys, done }
        await replayStream(job, deps, signal)
      }
      return { delivered, refused, gone, left }
    } catch (error) {
      if (!isFailure(error) || error.code === 'store_unavailable' || error.code === 'store_refuses')
        throw error
      return { delivered, refused, gone, left, error: signal.aborted ? 'stopped' : messageOf(error) }
    }
  }
}
