import type { Work } from '../../assemble/work.ts'
import { heldSinks } from '../../assemble/held-sinks.ts'
import { zonesById, redoneBy } from './events.ts'
import { settleDeadLetters } from '../../domain/checkpoint.ts'
import type { DeadLetter, RefusalReason } from '../../domain/event/delivery.ts'
import type { Event, Identity } from '../../domain/event/event.ts'
import { cancelled, isFailure, messageOf, type Failure } from '../../domain/failure.ts'
import { withDelivery } from '../../domain/scan/progress.ts'
import { onlyStream, streamKey, type Zone } from '../../domain/stream.ts'
import type { AnySink } from '../../ports/delivery.ts'
import { commitDelivery, deliver, outcomeOf } from '../../pump/commit-delivery.ts'
import { beginAnew } from '../../pump/end-stream.ts'
import { packSightings } from '../../pump/seen-window.ts'
import { targetOf, type SinkTarget } from '../../pump/open-sink.ts'
import type { PumpDeps, Session } from '../../pump/session.ts'
import { holdStream } from '../../days/hold-stream.ts'

export interface DeadLetterWork {
  readonly deps: PumpDeps
  readonly sinks: ReadonlyMap<string, AnySink>
  /** Why nothing may be shipped to a sink. */
  readonly held: ReadonlyMap<string, string>
  readonly zoneOf: (id: number) => Zone
  /** The event of a dead letter, mapped by the present configuration. */
  readonly redo: (deadLetter: DeadLetter) => Event
}

export interface SinkReplay {
  readonly sink: string
  delivered: number
  /** By the new reason. */
  readonly refusedAgain: Partial<Record<RefusalReason, number>>
  /** Settled by another process meanwhile, or by an earlier replay that was killed before it recorded that. */
  gone: number
  /** Not tried, or tried with an unknown result: they stay as they were. */
  left: number
  /** Why it stopped early; absent where it did not. */
  error?: string
}

const notConfigured = 'it is not configured; add it to the configuration, or drop them'

/** Continues with the next sink when one fails, and ends early when stopped. Throws the Failures of a store. */
export async function replayDeadLetters(
  chosen: readonly DeadLetter[],
  work: DeadLetterWork,
  signal: AbortSignal,
): Promise<SinkReplay[]> {
  const results: SinkReplay[] = []
  for (const [name, own] of Map.groupBy(chosen, ({ sink }) => sink)) {
    const result: SinkReplay = { sink: name, delivered: 0, refusedAgain: {}, gone: 0, left: own.length }
    results.push(result)
    const sink = work.sinks.get(name)
    const error = sink === undefined ? notConfigured : work.held.get(name)
    try {
      if (error === undefined) await replayTo(sink!, own, result, work, signal)
      else result.error = error
    } catch (failure) {
      if (!isFailure(failure) || failure.code.startsWith('store_')) throw failure
      result.error = signal.aborted ? 'stopped' : messageOf(failure)
    }
  }
  return results
}

/** Counts each page once it is settled: what was counted before a Failure of the sink stays delivered. */
async function replayTo(
  sink: AnySink,
  chosen: readonly DeadLetter[],
  result: SinkReplay,
  work: DeadLetterWork,
  signal: AbortSignal,
): Promise<void> {
  const replay = async (session: Session, deadLetters: readonly DeadLetter[]) => {
    // An event that is refused once more stays a dead letter, whatever the sink has taken before.
    await using target = targetOf(session, sink, signal, { refusalsStand: true })
    return await replayPage(session, target, deadLetters, work.redo, signal)
  }
  for await (const { tried, settled } of settlePages(chosen, replay, work, signal)) {
    const { delivered, kept, left, failure } = settled ?? { delivered: 0, kept: [], left: 0 }
    result.left -= tried - left
    result.delivered += delivered
    result.gone += tried - left - delivered - kept.length
    for (const { reason } of kept) result.refusedAgain[reason] = (result.refusedAgain[reason] ?? 0) + 1
    if (failure !== undefined) throw failure
  }
}

/**
 * Drops dead letters, and counts them in the checkpoints as dropped in the same step. Their events stay in the ledger, so
 * that an audit does not report them as missing. Returns those that there were. Throws Failure.
 */
export async function dropDeadLetters(
  chosen: readonly DeadLetter[],
  work: SettleWork,
  signal: AbortSignal,
): Promise<readonly DeadLetter[]> {
  const dropped: DeadLetter[] = []
  async function drop({ checkpoint, commit }: Session, found: readonly DeadLetter[]): Promise<void> {
    const next = settleDeadLetters(checkpoint(), { dropped: found.length })
    await commit(next, { removedDeadLetters: found.map(keyOf) })
    dropped.push(...found)
  }
  for await (const _ of settlePages(chosen, drop, work, signal));
  return dropped
}

type SettleWork = Pick<DeadLetterWork, 'deps' | 'zoneOf'>

/** Pause between two pages, so that a running process can take the stream. */
const betweenMs = 20

/**
 * Settles dead letters stream by stream and page by page, each once: takes the fence for one page at a time, so that a
 * stop at any moment leaves every dead letter either as it was or settled. Skips those that no longer exist (dropped, or
 * replayed by another process).
 */
async function* settlePages<Result>(
  chosen: readonly DeadLetter[],
  settle: (session: Session, deadLetters: readonly DeadLetter[]) => Promise<Result>,
  { deps, zoneOf }: SettleWork,
  signal: AbortSignal,
): AsyncGenerator<{ readonly tried: number; readonly settled: Result | undefined }> {
  for (const own of Map.groupBy(chosen, streamKey).values()) {
    const stream = onlyStream(own[0]!)
    const held = { stream, zone: zoneOf(stream.zone) }
    for (const [index, page] of pagesOf(own).entries()) {
      if (index > 0) await deps.clock.sleep(betweenMs, signal)
      if (signal.aborted) throw cancelled(signal.reason)
      const work = async (session: Session) => {
        await beginAnew(session)
        const found = await deps.store.deadLetters.read(stream, page.map(keyOf))
        return found.length === 0 ? undefined : await settle(session, found)
      }
      yield { tried: page.length, settled: await holdStream(held, deps, work, signal) }
    }
  }
}

const mostDeadLetters = 100
const mostBytes = 1_048_576

/** The oldest event first: in a fixed order the same dead letters give the same bodies again. */
function pagesOf(deadLetters: readonly DeadLetter[]): DeadLetter[][] {
  const pages: DeadLetter[][] = []
  let bytes = Infinity
  for (const deadLetter of deadLetters.toSorted(byTime)) {
    bytes += deadLetter.event.length
    if (bytes > mostBytes || pages.at(-1)!.length === mostDeadLetters) {
      pages.push([])
      bytes = deadLetter.event.length
    }
    pages.at(-1)!.push(deadLetter)
  }
  return pages
}

function byTime(left: Identity, right: Identity): number {
  const [one, other] = [`${left.time ?? ''} ${left.id}`, `${right.time ?? ''} ${right.id}`]
  return one < other ? -1 : one > other ? 1 : 0
}

/** What became of a page of dead letters. */
interface ReplayedPage {
  readonly delivered: number
  /** Those that were refused again, as they are kept now. */
  readonly kept: readonly DeadLetter[]
  /** Not delivered, since the sink failed. */
  readonly left: number
  readonly failure?: Failure | undefined
}

/**
 * Delivers dead letters, and commits in one step which of them the sink has taken; several times where it takes as much
 * as fits into one object, or meets that of an earlier try.
 */
async function replayPage(
  session: Session,
  target: SinkTarget,
  deadLetters: readonly DeadLetter[],
  redo: DeadLetterWork['redo'],
  signal: AbortSignal,
): Promise<ReplayedPage> {
  const at = session.now()
  const kept: DeadLetter[] = []
  const letterOf = new Map<Event, DeadLetter>()
  for (const deadLetter of deadLetters) {
    try {
      letterOf.set(redo(deadLetter), deadLetter)
    } catch (error) {
      // One that cannot be read is kept, with the reason.
      kept.push({ ...deadLetter, reason: 'unmappable', answer: messageOf(error).slice(0, 1024), at })
    }
  }
  let events = [...letterOf.keys()]
  let count = 0
  for (;;) {
    const delivered = await deliver(session, target, events, signal)
    const { delivery, adoption } = delivered
    for (const { event, reason, answer } of [...delivery.refusals, ...(delivery.skipped ?? [])]) {
      const deadLetter = letterOf.get(event)
      if (deadLetter === undefined) throw new Error('a sink refused an event that it was not given')
      // A person decides about an event that has become too old meanwhile: it stays, with its reason and the new answer.
      kept.push({ ...deadLetter, ...(reason !== 'too_old' && { reason }), answer, at })
      letterOf.delete(event)
    }
    const { taken, lost } = outcomeOf(delivered)
    const removed = adoption?.deadLetters ?? taken.map((event) => keyOf(letterOf.get(event)!))
    const seen = packSightings(adoption?.unseen ?? [])
    const counts = { delivered: adoption?.unseen.length ?? 0 }
    const shipped = withDelivery(session.checkpoint(), delivery, counts)
    const next = settleDeadLetters(shipped, { delivered: removed.length, lost })
    const extras = { removedDeadLetters: removed, seen }
    // New answers that exceed the limit do not end the replay: the older dead letters stay.
    const whole = { next, extras: { ...extras, deadLetters: kept } }
    await commitDelivery(session, delivery, whole, { next, extras })
    count += taken.length
    for (const event of taken) letterOf.delete(event)
    events = [...letterOf.keys()]
    const { partial } = delivery
    if (partial === undefined || partial.failure !== undefined || events.length === 0)
      return { delivered: count, kept, left: events.length, failure: partial?.failure }
  }
}

function keyOf({ id, time }: Identity): Identity {
  return { id, ...(time !== undefined && { time }) }
}

/** Replays or drops dead letters of an open store, with the streams taken meanwhile. */
export async function changeDeadLetters<Result>(
  work: Work,
  { delivers }: { readonly delivers: boolean },
  change: (over: DeadLetterWork) => Promise<Result>,
): Promise<Result> {
  const { config, store } = work
  const { deps, sinks } = await work.shipping({ delivers })
  const held = await heldSinks(config, store)
  const over = { deps, sinks, held, zoneOf: zonesById(config), redo: redoneBy(config) }
  return work.beating(() => change(over))
}
