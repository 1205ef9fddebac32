import { systemClock } from '../clock.ts'
import type { Config } from '../config/schema.ts'
import type { Day } from '../domain/day.ts'
import type { DeadLetterCount, DeadLetter, RefusalReason } from '../domain/event/delivery.ts'
import type { Identity, Event } from '../domain/event/event.ts'
import { restoreEvent } from '../domain/event/stored-event.ts'
import { messageOf, isFailure } from '../domain/failure.ts'
import { streamKey, type Stream, type Zone } from '../domain/stream.ts'
import { formats } from '../formats/registry.ts'
import { dropDeadLetters, wakeFullStreams } from '../maintenance/dead-letters/drop.ts'
import type { ReplayedPage } from '../maintenance/dead-letters/replay.ts'
import { replayStream } from '../maintenance/dead-letters/replay.ts'
import type { Clock } from '../ports/process.ts'
import type { Store } from '../ports/store.ts'
import { withHeartbeat } from '../pump/take-stream.ts'
import { eventAgain } from '../shield/entries/stored-event.ts'
import { createRedactor } from '../shield/redaction/redact.ts'
import { heldSinks } from './held-sinks.ts'
import { zonesOf } from '../config/planned.ts'
import { createQuietRuntime, createHolder } from './quiet-runtime.ts'
import { createShipping, type Shipping } from './shipping.ts'
import { withStoreToLook } from './state.ts'

/** The event, or why it cannot be read. */
type ReadDeadLetter = { readonly event: unknown } | { readonly problem: string }

/** The dead letters, oldest first; none where there is no store. Throws Failure. */
export function listDeadLetters(config: Config): Promise<DeadLetter[]> {
  return withStoreToLook(config, systemClock, (store) => store.deadLetters.list())
}

/** Reads the events of dead letters, in native form and redacted as configured now. */
export function deadLetterReader(config: Config): (deadLetter: DeadLetter) => ReadDeadLetter {
  const redactor = createRedactor(config.redact)
  const zones = new Map(zonesOf(config).map((zone) => [zone.id, zone]))
  const { encode } = formats.native()
  return ({ event }) => {
    try {
      const stored = restoreEvent(event)
      const again = eventAgain(stored, zones.get(stored.zone.id) ?? stored.zone, redactor)
      return { event: JSON.parse(encode(again)) as unknown }
    } catch (error) {
      return { problem: messageOf(error) }
    }
  }
}

/** Works on the existing store. Throws Failure. */
export function withDeadLetterTasks<Result>(
  config: Config,
  work: (tasks: DeadLetterTasks) => Promise<Result>,
): Promise<Result> {
  return withStoreToLook(config, systemClock, (store) => work(new StoreTasks(config, store)))
}

/** Dead letters of one stream at the time of the request. */
export interface DeadLetterGroup {
  readonly stream: Stream
  readonly counts: readonly DeadLetterCount[]
  readonly keys: readonly Identity[]
}

/** The same of dead letters that were read, for a selection that counts do not know. */
export function groupsOf(deadLetters: readonly DeadLetter[]): DeadLetterGroup[] {
  return [...Map.groupBy(deadLetters, (each) => streamKey(streamOf(each))).values()].map((own) => {
    const stream = streamOf(own[0]!)
    const counts = [...Map.groupBy(own, ({ reason }) => reason)].map(([reason, some]) => ({
      ...stream,
      reason,
      count: some.length,
      bytes: some.reduce((sum, { event }) => sum + event.length, 0),
    }))
    return { stream, counts, keys: own.map(({ id, time }) => ({ id, ...(time !== undefined && { time }) })) }
  })
}

function streamOf({ zone, day, sink }: DeadLetter): Stream {
  return { zone, day: day as Day, sink }
}

type ReasonCounts = ReadonlyMap<RefusalReason, number>

/** Result of a replay for one sink. */
export interface SinkReplay {
  readonly sink: string
  readonly delivered: number
  /** Refused again, by the new reason. */
  readonly refused: ReasonCounts
  /** Settled by another process meanwhile, or by an earlier replay that was killed before it recorded that. */
  readonly gone: number
  /** Not tried, or tried with an unknown result: they stay as they were. */
  readonly left: number
  /** Why it stopped early; absent where it did not. */
  readonly error?: string
}

/** Replays and drops dead letters, with or without a running process. */
export interface DeadLetterTasks {
  /** All of them, oldest first. */
  list(): Promise<DeadLetter[]>
  /** Counts by stream and reason; none where nothing was ever shipped. */
  counts(): Promise<DeadLetterCount[]>
  /** The streams of these counts, with the keys of their dead letters. */
  groups(counts: readonly DeadLetterCount[]): Promise<DeadLetterGroup[]>
  /** Continues with the next sink when one fails; ends early when it is stopped. Throws the Failures of a store. */
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
