import { counted, settleDeadLetters } from '../domain/checkpoint.ts'
import type { DeadLetter, Refusal, RefusalReason, Skip } from '../domain/event/delivery.ts'
import type { Event, Identity } from '../domain/event/event.ts'
import { cancelled, isFailure, messageOf, type Failure } from '../domain/failure.ts'
import { withDelivery } from '../domain/scan/progress.ts'
import { onlyStream, streamKey, type Zone } from '../domain/stream.ts'
import type { AnySink } from '../ports/delivery.ts'
import { commitDelivery, deliver, type Change, type DeliveryOutcome } from '../pump/commit-delivery.ts'
import { packSightings } from '../pump/seen-window.ts'
import { openSink, type SinkTarget } from '../pump/open-sink.ts'
import type { PumpDeps, Session } from '../pump/session.ts'
import { beginAnew, holdStream, type HeldStream } from './hold-stream.ts'

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
  readonly delivered: number
  /** Refused again, by the new reason. */
  readonly refused: ReadonlyMap<RefusalReason, number>
  /** Settled by another process meanwhile, or by an earlier replay that was killed before it recorded that. */
  readonly gone: number
  /** Not tried, or tried with an unknown result: they stay as they were. */
  readonly left: number
  /** Why it stopped early; absent where it did not. */
  readonly error?: string
}

const notConfigured = 'it is not configured; add it to the configuration, or drop them'

/** Continues with the next sink when one fails, and ends early when stopped. Throws the Failures of a store. */
export async function replayDeadLetters(
  chosen: readonly DeadLetter[],
  { deps, sinks, held, zoneOf, redo }: DeadLetterWork,
  progressed: (tried: number) => void,
  signal: AbortSignal,
): Promise<SinkReplay[]> {
  const results: SinkReplay[] = []
  for (const [name, own] of Map.groupBy(chosen, ({ sink }) => sink)) {
    let [delivered, gone, left] = [0, 0, own.length]
    const refused = new Map<RefusalReason, number>()
    const done = (page: ReplayedPage) => {
      left -= page.tried - page.left
      delivered += page.delivered
      gone += page.tried - page.left - page.delivered - page.kept.length
      for (const { reason } of page.kept) refused.set(reason, (refused.get(reason) ?? 0) + 1)
      progressed(page.tried)
    }
    const sink = sinks.get(name)
    let error = sink === undefined ? notConfigured : held.get(name)
    try {
      for (const keys of error === undefined ? byStream(own) : [])
        await replayStream({ ...heldBy(keys, zoneOf), sink: sink!, redo, keys, done }, deps, signal)
    } catch (failure) {
      if (!isFailure(failure) || failure.code.startsWith('store_')) throw failure
      error = signal.aborted ? 'stopped' : messageOf(failure)
    }
    results.push({ sink: name, delivered, refused, gone, left, ...(error !== undefined && { error }) })
  }
  return results
}

/**
 * Drops dead letters, and counts them in the checkpoints as dropped in the same step. Their events stay in the ledger, so
 * that an audit does not report them as missing. Returns those that there were. Throws Failure.
 */
export async function dropDeadLetters(
  chosen: readonly DeadLetter[],
  { deps, zoneOf }: Pick<DeadLetterWork, 'deps' | 'zoneOf'>,
  signal: AbortSignal,
): Promise<readonly DeadLetter[]> {
  const dropped: DeadLetter[] = []
  async function drop({ checkpoint, commit }: Session, found: readonly DeadLetter[]): Promise<void> {
    const next = settleDeadLetters(checkpoint(), { dropped: found.length })
    await commit(next, { removedDeadLetters: found.map(keyOf) })
    dropped.push(...found)
  }
  for (const keys of byStream(chosen))
    for await (const _ of settlePages({ ...heldBy(keys, zoneOf), keys }, drop, deps, signal));
  return dropped
}

function byStream(deadLetters: readonly DeadLetter[]): DeadLetter[][] {
  return [...Map.groupBy(deadLetters, streamKey).values()]
}

function heldBy([first]: readonly DeadLetter[], zoneOf: DeadLetterWork['zoneOf']): HeldStream {
  return { stream: onlyStream(first!), zone: zoneOf(first!.zone) }
}

interface Settling extends HeldStream {
  readonly keys: readonly Identity[]
}

/** Pause between two pages, so that a running process can take the stream. */
const betweenMs = 20

/**
 * Settles dead letters of a stream page by page, the oldest event first, each once: takes the fence for one page at a
 * time, so that a stop at any moment leaves every dead letter either as it was or settled. Skips those that no longer
 * exist (dropped, or replayed by another process). `tried`: how many keys are dealt with.
 */
async function* settlePages<Result>(
  { stream, zone, keys }: Settling,
  settle: (session: Session, deadLetters: readonly DeadLetter[]) => Promise<Result>,
  deps: PumpDeps,
  signal: AbortSignal,
): AsyncGenerator<{ readonly tried: number; readonly settled?: Result }> {
  const left = keys.toSorted(byTime).map(keyOf)
  while (left.length > 0) {
    if (signal.aborted) throw cancelled(signal.reason)
    const work = async (session: Session) => {
      await beginAnew(session)
      const { deadLetters, tried } = await loadDeadLetters(session, left)
      return deadLetters.length === 0 ? { tried } : { tried, settled: await settle(session, deadLetters) }
    }
    const page = await holdStream({ stream, zone }, deps, work, signal)
    left.splice(0, page.tried)
    yield page
    if (left.length > 0) await deps.clock.sleep(betweenMs, signal)
  }
}

/** A fixed order: the same dead letters give the same bodies again. */
function byTime(left: Identity, right: Identity): number {
  const [one, other] = [`${left.time ?? ''} ${left.id}`, `${right.time ?? ''} ${right.id}`]
  return one < other ? -1 : one > other ? 1 : 0
}

const mostDeadLetters = 100
const deadLettersAtOnce = 10
const mostBytes = 1_048_576

async function loadDeadLetters(
  { deps, job }: Session,
  keys: readonly Identity[],
): Promise<{ deadLetters: DeadLetter[]; tried: number }> {
  const deadLetters: DeadLetter[] = []
  let [tried, bytes] = [0, 0]
  while (tried < keys.length && tried < mostDeadLetters && bytes < mostBytes) {
    const some = keys.slice(tried, tried + deadLettersAtOnce)
    for (const deadLetter of await deps.store.deadLetters.read(job.stream, some)) {
      deadLetters.push(deadLetter)
      bytes += deadLetter.event.length
    }
    tried += some.length
  }
  return { deadLetters, tried }
}

interface ReplayJob extends Settling, Pick<DeadLetterWork, 'redo'> {
  readonly sink: AnySink
  /** Called after each page. */
  readonly done: (page: ReplayedPage) => void
}

export interface ReplayedPage {
  /** How many of the keys were tried, from the first on. */
  readonly tried: number
  readonly delivered: number
  /** Not delivered, since the sink failed. */
  readonly left: number
  /** Those that were refused again, as they are kept now. */
  readonly kept: readonly DeadLetter[]
}

/** Throws the Failures of the sink and the store; earlier pages stay delivered. */
export async function replayStream(job: ReplayJob, deps: PumpDeps, signal: AbortSignal): Promise<void> {
  const { sink, redo, done } = job
  const replay = async (session: Session, deadLetters: readonly DeadLetter[]) => {
    // An event that is refused once more stays a dead letter, whatever the sink has taken before.
    await using target = await openSink(session, sink, signal, { refusalsStand: true })
    return await replayPage(session, target, { deadLetters, redo }, signal)
  }
  for await (const { tried, settled } of settlePages(job, replay, deps, signal)) {
    const { failure, ...page } = settled ?? { delivered: 0, kept: [], left: 0 }
    done({ tried, ...page })
    if (failure !== undefined) throw failure
  }
}

interface Replayed extends Omit<ReplayedPage, 'tried'> {
  /** Why the other events were not delivered. */
  readonly failure?: Failure
}

/** Delivers dead letters as a page of their own, and commits in one step which of them the sink has taken. */
async function replayPage(
  session: Session,
  target: SinkTarget,
  { deadLetters, redo }: Pick<ReplayJob, 'redo'> & { readonly deadLetters: readonly DeadLetter[] },
  signal: AbortSignal,
): Promise<Replayed> {
  const damaged: DeadLetter[] = []
  const letterOf = new Map<Event, DeadLetter>()
  for (const deadLetter of deadLetters) {
    try {
      letterOf.set(redo(deadLetter), deadLetter)
    } catch (error) {
      // One that cannot be read is kept, with the reason.
      damaged.push({ ...deadLetter, reason: 'unmappable', answer: messageOf(error).slice(0, 1024) })
    }
  }
  const events = [...letterOf.keys()]
  if (deadLetters.length === 0) return { delivered: 0, kept: [], left: 0 }
  const { delivery, adoption } = await deliver(session, target, events, signal)
  const at = session.now()
  const keptOf = (refusals: readonly Refusal[], skipped: readonly Skip[] = []): DeadLetter[] => {
    const refused = [...refusals, ...skipped].map(({ event, reason, answer }) => {
      const deadLetter = letterOf.get(event)
      if (deadLetter === undefined) throw new Error('a sink refused an event that it was not given')
      // A person decides about an event that has become too old meanwhile: it stays, with its reason and the new answer.
      return { ...deadLetter, ...(reason !== 'too_old' && { reason }), answer }
    })
    return [...damaged, ...refused].map((deadLetter) => ({ ...deadLetter, at }))
  }
  const change = ({ taken, lost }: DeliveryOutcome, deadLetters: readonly DeadLetter[]): Change => {
    const before = session.checkpoint()
    const counters = counted(before.counters, { delivered: adoption?.unseen.length ?? 0 })
    const next = withDelivery({ ...before, counters }, delivery)
    const removed = adoption?.deadLetters ?? taken.map((event) => keyOf(letterOf.get(event)!))
    return {
      next: settleDeadLetters(next, { delivered: removed.length, lost }),
      extras: { removedDeadLetters: removed, deadLetters, seen: packSightings(adoption?.unseen ?? []) },
    }
  }
  const { failure, ...outcome } = await commitDelivery(session, {
    events,
    delivery,
    whole: (all) => change(all, keptOf(all.refusals, all.skipped)),
    part: (some) => change(some, some.refusals.length === 0 ? [] : keptOf(some.refusals, some.skipped)),
  })
  const kept = keptOf(delivery.refusals, delivery.skipped)
  const delivered = outcome.taken.length
  const page = { delivered, kept, left: deadLetters.length - delivered - kept.length }
  if (failure === undefined && delivery.partial !== undefined) {
    // The sink took as much as fits into one object, or met that of an earlier try.
    const settled = new Set([
      ...outcome.taken,
      ...[...outcome.refusals, ...outcome.skipped].map(({ event }) => event),
    ])
    const left = events.filter((event) => !settled.has(event)).map((event) => letterOf.get(event)!)
    const rest = await replayPage(session, target, { deadLetters: left, redo }, signal)
    return { ...rest, delivered: page.delivered + rest.delivered, kept: [...kept, ...rest.kept] }
  }
  // A new answer that exceeds the limit does not end the replay: the older dead letter stays.
  return failure === undefined || isFailure(failure, 'dead_letters_full') ? page : { ...page, failure }
}

function keyOf({ id, time }: Identity): Identity {
  return { id, ...(time !== undefined && { time }) }
}
