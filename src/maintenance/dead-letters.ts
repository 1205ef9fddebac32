import { settleDeadLetters } from '../domain/checkpoint.ts'
import type { DeadLetter, RefusalReason } from '../domain/event/delivery.ts'
import type { Event, Identity } from '../domain/event/event.ts'
import { cancelled, isFailure, messageOf, type Failure } from '../domain/failure.ts'
import { withDelivery } from '../domain/scan/progress.ts'
import { onlyStream, streamKey, type Zone } from '../domain/stream.ts'
import type { AnySink } from '../ports/delivery.ts'
import { commitDelivery, deliver, type DeliveryOutcome } from '../pump/commit-delivery.ts'
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
  signal: AbortSignal,
): Promise<SinkReplay[]> {
  const results: SinkReplay[] = []
  for (const [name, own] of Map.groupBy(chosen, ({ sink }) => sink)) {
    let [delivered, gone, left] = [0, 0, own.length]
    const refused = new Map<RefusalReason, number>()
    const add = ({ tried, delivered: taken, kept, left: untaken }: ReplayedPage) => {
      left -= tried - untaken
      delivered += taken
      gone += tried - untaken - taken - kept.length
      for (const { reason } of kept) refused.set(reason, (refused.get(reason) ?? 0) + 1)
    }
    const sink = sinks.get(name)
    let error = sink === undefined ? notConfigured : held.get(name)
    try {
      for (const ofStream of error === undefined ? byStream(own, zoneOf) : []) {
        const job = { ...ofStream, sink: sink!, redo }
        for await (const page of replayStream(job, deps, signal)) add(page)
      }
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
  for (const ofStream of byStream(chosen, zoneOf))
    for await (const _ of settlePages(ofStream, drop, deps, signal));
  return dropped
}

function byStream(deadLetters: readonly DeadLetter[], zoneOf: DeadLetterWork['zoneOf']): Settling[] {
  const streams = [...Map.groupBy(deadLetters, streamKey).values()]
  return streams.map((chosen) => {
    const stream = onlyStream(chosen[0]!)
    return { stream, zone: zoneOf(stream.zone), chosen }
  })
}

interface Settling extends HeldStream {
  /** Of the stream. */
  readonly chosen: readonly DeadLetter[]
}

/** Pause between two pages, so that a running process can take the stream. */
const betweenMs = 20

/**
 * Settles dead letters of a stream page by page, each once: takes the fence for one page at a time, so that a stop at any
 * moment leaves every dead letter either as it was or settled. Skips those that no longer exist (dropped, or replayed by
 * another process).
 */
async function* settlePages<Result>(
  { stream, zone, chosen }: Settling,
  settle: (session: Session, deadLetters: readonly DeadLetter[]) => Promise<Result>,
  deps: PumpDeps,
  signal: AbortSignal,
): AsyncGenerator<{ readonly tried: number; readonly settled: Result | undefined }> {
  for (const [index, page] of pagesOf(chosen).entries()) {
    if (index > 0) await deps.clock.sleep(betweenMs, signal)
    if (signal.aborted) throw cancelled(signal.reason)
    const work = async (session: Session) => {
      await beginAnew(session)
      const found = await deps.store.deadLetters.read(stream, page.map(keyOf))
      return found.length === 0 ? undefined : await settle(session, found)
    }
    yield { tried: page.length, settled: await holdStream({ stream, zone }, deps, work, signal) }
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

interface ReplayJob extends Settling, Pick<DeadLetterWork, 'redo'> {
  readonly sink: AnySink
}

/** What became of a page of dead letters. */
interface ReplayedPage {
  /** How many it had. */
  readonly tried: number
  readonly delivered: number
  /** Those that were refused again, as they are kept now. */
  readonly kept: readonly DeadLetter[]
  /** Not delivered, since the sink failed. */
  readonly left: number
  readonly failure?: Failure | undefined
}

/** Yields each page once it is settled. Throws the Failures of the sink and the store; what was yielded stays delivered. */
export async function* replayStream(
  job: ReplayJob,
  deps: PumpDeps,
  signal: AbortSignal,
): AsyncGenerator<ReplayedPage> {
  const replay = async (session: Session, deadLetters: readonly DeadLetter[]) => {
    // An event that is refused once more stays a dead letter, whatever the sink has taken before.
    await using target = await openSink(session, job.sink, signal, { refusalsStand: true })
    return await replayPage(session, target, deadLetters, job.redo, signal)
  }
  for await (const { tried, settled } of settlePages(job, replay, deps, signal)) {
    const page = settled ?? { delivered: 0, kept: [], left: 0 }
    yield { tried, ...page }
    if (page.failure !== undefined) throw page.failure
  }
}

/**
 * Delivers dead letters, and commits in one step which of them the sink has taken; several times where it takes as much
 * as fits into one object, or meets that of an earlier try.
 */
async function replayPage(
  session: Session,
  target: SinkTarget,
  deadLetters: readonly DeadLetter[],
  redo: ReplayJob['redo'],
  signal: AbortSignal,
): Promise<Omit<ReplayedPage, 'tried'>> {
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
  let delivered = 0
  for (;;) {
    const { delivery, adoption } = await deliver(session, target, events, signal)
    for (const { event, reason, answer } of [...delivery.refusals, ...(delivery.skipped ?? [])]) {
      const deadLetter = letterOf.get(event)
      if (deadLetter === undefined) throw new Error('a sink refused an event that it was not given')
      // A person decides about an event that has become too old meanwhile: it stays, with its reason and the new answer.
      kept.push({ ...deadLetter, ...(reason !== 'too_old' && { reason }), answer, at })
      letterOf.delete(event)
    }
    const settle = ({ taken, lost }: DeliveryOutcome) => {
      const removed = adoption?.deadLetters ?? taken.map((event) => keyOf(letterOf.get(event)!))
      const seen = packSightings(adoption?.unseen ?? [])
      const counts = { delivered: adoption?.unseen.length ?? 0 }
      const shipped = withDelivery(session.checkpoint(), delivery, counts)
      return {
        next: settleDeadLetters(shipped, { delivered: removed.length, lost }),
        extras: { removedDeadLetters: removed, deadLetters: kept, seen },
      }
    }
    // New answers that exceed the limit do not end the replay: the older dead letters stay.
    const { outcome } = await commitDelivery(session, events, delivery, settle)
    delivered += outcome.taken.length
    for (const event of outcome.taken) letterOf.delete(event)
    events = [...letterOf.keys()]
    const { partial } = delivery
    if (partial === undefined || partial.failure !== undefined || events.length === 0)
      return { delivered, kept, left: events.length, failure: partial?.failure }
  }
}

function keyOf({ id, time }: Identity): Identity {
  return { id, ...(time !== undefined && { time }) }
}
