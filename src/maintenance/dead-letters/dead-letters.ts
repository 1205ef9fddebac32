import { settleDeadLetters, type Checkpoint, type Trouble } from '../../domain/checkpoint.ts'
import type { Day } from '../../domain/day.ts'
import type { DeadLetter, DeadLetterCount, RefusalReason } from '../../domain/event/delivery.ts'
import type { Event, Identity } from '../../domain/event/event.ts'
import { cancelled, isFailure, messageOf } from '../../domain/failure.ts'
import { onlyStream, streamKey, type Stream, type Zone } from '../../domain/stream.ts'
import type { AnySink } from '../../ports/delivery.ts'
import type { Store } from '../../ports/store.ts'
import type { PumpDeps, Session } from '../../pump/session.ts'
import { holdStream } from '../hold-stream.ts'
import { keyOf, replayStream, type ReplayedPage } from './replay.ts'

/** Dead letters of one stream at the time of the request. */
export interface DeadLetterGroup {
  readonly stream: Stream
  readonly counts: readonly DeadLetterCount[]
  readonly keys: readonly Identity[]
}

/** The streams of these counts, with the keys of their dead letters. */
export async function groupsOfCounts(
  counts: readonly DeadLetterCount[],
  { deadLetters }: Pick<Store, 'deadLetters'>,
): Promise<DeadLetterGroup[]> {
  const groups: DeadLetterGroup[] = []
  for (const own of Map.groupBy(counts, streamKey).values()) {
    const stream = onlyStream(own[0]!)
    groups.push({ stream, counts: own, keys: await deadLetters.keys(stream) })
  }
  return groups
}

/** The same of dead letters that were read, for a selection that counts do not know. */
export function groupsOf(deadLetters: readonly DeadLetter[]): DeadLetterGroup[] {
  const streamOf = ({ zone, day, sink }: DeadLetter) => ({ zone, day: day as Day, sink })
  const byStream = Map.groupBy(deadLetters, (each) => streamKey(streamOf(each)))
  return [...byStream.values()].map((own) => {
    const stream = streamOf(own[0]!)
    const counts = [...Map.groupBy(own, ({ reason }) => reason)].map(([reason, some]) => {
      const bytes = some.reduce((sum, { event }) => sum + event.length, 0)
      return { ...stream, reason, count: some.length, bytes }
    })
    return { stream, counts, keys: own.map(keyOf) }
  })
}

/** What a change of dead letters works with. */
export interface DeadLetterWork {
  readonly deps: PumpDeps
  readonly sinks: ReadonlyMap<string, AnySink>
  /** Why nothing may be shipped to a sink. */
  readonly held: ReadonlyMap<string, string>
  readonly zoneOf: (id: number) => Zone
  /** Maps a stored event by the present configuration. */
  readonly redo: (event: Event) => Event
}

/** Result of a replay for one sink. */
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

/**
 * Delivers dead letters again, sink by sink; continues with the next one when one fails, and ends early when it is
 * stopped. Throws the Failures of a store.
 */
export async function replayDeadLetters(
  groups: readonly DeadLetterGroup[],
  { deps, sinks, held, zoneOf, redo }: DeadLetterWork,
  progressed: (done: number) => void,
  signal: AbortSignal,
): Promise<SinkReplay[]> {
  const results: SinkReplay[] = []
  for (const [name, own] of Map.groupBy(groups, ({ stream }) => stream.sink)) {
    let [delivered, gone, left] = [0, 0, 0]
    for (const { keys } of own) left += keys.length
    const refused = new Map<RefusalReason, number>()
    const done = (page: ReplayedPage) => {
      left -= page.tried
      delivered += page.delivered
      gone += page.tried - page.delivered - page.kept.length
      for (const { reason } of page.kept) refused.set(reason, (refused.get(reason) ?? 0) + 1)
      progressed(page.tried)
    }
    const sink = sinks.get(name)
    let error = sink === undefined ? notConfigured : held.get(name)
    try {
      for (const { stream, keys } of error === undefined ? own : [])
        await replayStream({ stream, zone: zoneOf(stream.zone), sink: sink!, redo, keys, done }, deps, signal)
    } catch (failure) {
      if (!isFailure(failure) || failure.code.startsWith('store_')) throw failure
      error = signal.aborted ? 'stopped' : messageOf(failure)
    }
    results.push({ sink: name, delivered, refused, gone, left, ...(error !== undefined && { error }) })
  }
  await wakeFullStreams({ deps, zoneOf }, signal)
  return results
}

const deadLettersAtOnce = 100

/**
 * Drops dead letters, and counts them in the checkpoints as dropped in the same step. Their events stay in the ledger, so
 * that an audit does not report them as missing. Returns those that there were. Throws Failure.
 */
export async function dropDeadLetters(
  groups: readonly Pick<DeadLetterGroup, 'stream' | 'keys'>[],
  { deps, zoneOf }: Pick<DeadLetterWork, 'deps' | 'zoneOf'>,
  signal: AbortSignal,
): Promise<Pick<DeadLetter, 'sink' | 'reason'>[]> {
  const { deadLetters, ledger } = deps.store
  const dropped: Pick<DeadLetter, 'sink' | 'reason'>[] = []
  for (const { stream, keys } of groups) {
    const on = { stream, zone: zoneOf(stream.zone) }
    // A past day whose checkpoint was dropped has only its dead letters left.
    const isKnown = (await ledger.read(stream)) !== undefined
    for (let from = 0; from < keys.length; from += deadLettersAtOnce) {
      if (signal.aborted) throw cancelled(signal.reason)
      const some = keys.slice(from, from + deadLettersAtOnce)
      const drop = async ({ checkpoint, commit }: Session) => {
        const found = await deadLetters.read(stream, some)
        const removedDeadLetters = found.map(keyOf)
        if (found.length > 0)
          await commit(settleDeadLetters(checkpoint(), { dropped: found.length }), { removedDeadLetters })
        return found
      }
      const found = isKnown ? await holdStream(on, deps, drop, signal) : await deadLetters.read(stream, some)
      if (!isKnown) await deadLetters.remove(found)
      dropped.push(...found.map(({ sink, reason }) => ({ sink, reason })))
    }
  }
  await wakeFullStreams({ deps, zoneOf }, signal)
  return dropped
}

/** A process that holds a stream for longer retries it soon. */
const patienceMs = 2_000

/** Ends the back-off of streams and read requests that stopped because the store had no room for dead letters. */
async function wakeFullStreams(
  { deps, zoneOf }: Pick<DeadLetterWork, 'deps' | 'zoneOf'>,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return
  const wake = async ({ checkpoint, commit }: Session) => {
    const next = woken(checkpoint())
    if (next !== undefined) await commit(next)
  }
  for (const checkpoint of await deps.store.catalogue.checkpoints()) {
    if (woken(checkpoint) === undefined) continue
    const { stream } = checkpoint
    try {
      await holdStream({ stream, zone: zoneOf(stream.zone) }, { ...deps, patienceMs }, wake, signal)
    } catch (error) {
      if (!isFailure(error, 'held')) throw error
    }
  }
}

/** Undefined where nothing waits for room. */
function woken(checkpoint: Checkpoint): Checkpoint | undefined {
  const { trouble, requestTrouble } = checkpoint
  const isFull = (each: Trouble | undefined) => each?.code === 'dead_letters_full'
  if (!isFull(trouble) && !isFull(requestTrouble)) return undefined
  return {
    ...checkpoint,
    ...(isFull(trouble) && { trouble: { ...trouble!, retryAtMs: trouble!.atMs } }),
    ...(isFull(requestTrouble) && {
      requestTrouble: { ...requestTrouble!, retryAtMs: requestTrouble!.atMs },
    }),
  }
}
