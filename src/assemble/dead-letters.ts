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
import type { Store } from '../ports/store.ts'
import { eventAgain } from '../shield/entries/stored-event.ts'
import { createRedactor } from '../shield/redaction/redact.ts'
import { heldSinks } from './held-sinks.ts'
import { zonesOf } from '../config/planned.ts'
import { type Shipping } from './shipping.ts'
import type { Work } from './work.ts'

/** The event, or why it cannot be read. */
type ReadDeadLetter = { readonly event: unknown } | { readonly problem: string }

/** Reads the events of dead letters, in native form and redacted as configured now. */
export function deadLetterReader(config: Config): (deadLetter: DeadLetter) => ReadDeadLetter {
  const redo = redoneBy(config)
  const { encode } = formats.native()
  return ({ event }) => {
    try {
      return { event: JSON.parse(encode(redo(restoreEvent(event)))) as unknown }
    } catch (error) {
      return { problem: messageOf(error) }
    }
  }
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

const notConfigured = 'it is not configured; add it to the configuration, or drop them'

interface ReplayOfSink {
  readonly sink: string
  readonly groups: readonly DeadLetterGroup[]
  /** Why nothing may be shipped to it. */
  readonly held: string | undefined
  readonly progressed: (done: number) => void
}

/** The streams of these counts, with the keys of their dead letters. */
export async function groupsOfCounts(
  counts: readonly DeadLetterCount[],
  { deadLetters }: Pick<Store, 'deadLetters'>,
): Promise<DeadLetterGroup[]> {
  const groups: DeadLetterGroup[] = []
  for (const own of Map.groupBy(counts, streamKey).values()) {
    const { zone, day, sink } = own[0]!
    const stream = { zone, day, sink }
    groups.push({ stream, counts: own, keys: await deadLetters.keys(stream) })
  }
  return groups
}

/** Continues with the next sink when one fails; ends early when it is stopped. Throws the Failures of a store. */
export async function replayDeadLetters(
  groups: readonly DeadLetterGroup[],
  work: Work,
  progressed: (done: number) => void,
  signal: AbortSignal,
): Promise<SinkReplay[]> {
  const results: SinkReplay[] = []
  const shipping = await work.shipping()
  await changing(work, shipping, signal, async () => {
    const held = await heldSinks(work.config, work.store)
    for (const [sink, own] of Map.groupBy(groups, ({ stream }) => stream.sink)) {
      const replay = { sink, groups: own, held: held.get(sink), progressed }
      results.push({ sink, ...(await replaySink(replay, work, shipping, signal)) })
    }
  })
  return results
}

/** Returns how many of each sink were dropped, by reason. Throws Failure. */
export async function dropAll(
  groups: readonly DeadLetterGroup[],
  work: Work,
  signal: AbortSignal,
): Promise<{ sink: string; counts: ReasonCounts }[]> {
  const results: { sink: string; counts: ReasonCounts }[] = []
  const shipping = await work.shipping({ delivers: false })
  await changing(work, shipping, signal, async () => {
    for (const [sink, own] of Map.groupBy(groups, ({ stream }) => stream.sink)) {
      const counts = new Map<RefusalReason, number>()
      for (const { stream, keys } of own) {
        const job = { stream, zone: zoneOf(work, stream.zone), keys }
        for (const [reason, count] of await dropDeadLetters(job, shipping.deps, signal))
          counts.set(reason, (counts.get(reason) ?? 0) + count)
      }
      results.push({ sink, counts })
    }
  })
  return results
}

/** Streams that waited for room go on after the change. */
async function changing(
  work: Work,
  { deps }: Shipping,
  signal: AbortSignal,
  change: () => Promise<void>,
): Promise<void> {
  await work.beating(async () => {
    await change()
    if (!signal.aborted) await wakeFullStreams(deps, (id) => zoneOf(work, id), signal)
  })
}

/** A zone that left the configuration may still have dead letters. */
function zoneOf({ config }: Work, id: number): Zone {
  return zonesOf(config).find((zone) => zone.id === id) ?? { id, name: String(id), account: '' }
}

async function replaySink(
  { sink: name, groups, held, progressed }: ReplayOfSink,
  work: Work,
  { deps, sinks }: Shipping,
  signal: AbortSignal,
): Promise<Omit<SinkReplay, 'sink'>> {
  let [delivered, gone, left] = [0, 0, 0]
  for (const { keys } of groups) left += keys.length
  const refused = new Map<RefusalReason, number>()
  const sink = sinks.get(name)
  if (sink === undefined) return { delivered, refused, gone, left, error: notConfigured }
  if (held !== undefined) return { delivered, refused, gone, left, error: held }
  const redo = redoneBy(work.config)
  const done = (page: ReplayedPage) => {
    left -= page.tried
    delivered += page.delivered
    gone += page.tried - page.delivered - page.kept.length
    for (const { reason } of page.kept) refused.set(reason, (refused.get(reason) ?? 0) + 1)
    progressed(page.tried)
  }
  try {
    for (const { stream, keys } of groups) {
      const job = { stream, zone: zoneOf(work, stream.zone), sink, redo, keys, done }
      await replayStream(job, deps, signal)
    }
    return { delivered, refused, gone, left }
  } catch (error) {
    if (!isFailure(error) || error.code === 'store_unavailable' || error.code === 'store_refuses') throw error
    return { delivered, refused, gone, left, error: signal.aborted ? 'stopped' : messageOf(error) }
  }
}

/** Maps a stored event by the present configuration: its names of zones, its redaction. */
function redoneBy(config: Config): (event: Event) => Event {
  const redactor = createRedactor(config.redact)
  const zones = new Map(zonesOf(config).map((zone) => [zone.id, zone]))
  return (event) => eventAgain(event, zones.get(event.zone.id) ?? event.zone, redactor)
}
