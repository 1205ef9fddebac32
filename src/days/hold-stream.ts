import { retryWhileHeld, shortRetryMs } from '../domain/retry.ts'
import { unknownOrdering } from '../domain/scan/ordering.ts'
import type { Stream } from '../domain/stream.ts'
import { takeStream, type PumpDeps, type Session, type TakeJob } from '../pump/session.ts'
import type { RequestAnswer } from '../domain/checkpoint.ts'
import { isAnswered, type ReadRequest } from '../domain/read-request.ts'
import { isFailure, type Failure } from '../domain/failure.ts'
import type { Clock } from '../ports/process.ts'
import type { Store } from '../ports/store.ts'

/** A stream that is changed outside of its pumps; one page at most, unless it says more. */
export type HeldStream = Pick<TakeJob, 'stream' | 'zone'> & Partial<TakeJob>

/**
 * Takes the fence of a stream for one piece of work, which may be repeated from its start: it waits and tries again while
 * another process holds the stream, and when one has taken it over. Throws the Failures of the store and of the work.
 */
export function holdStream<Result>(
  on: HeldStream,
  deps: PumpDeps,
  work: (session: Session) => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  return retryWhileHeld(() => hold(on, deps, work), deps, signal)
}

async function hold<Result>(on: HeldStream, deps: PumpDeps, work: (session: Session) => Promise<Result>) {
  const short = { priority: 'backfill', ordering: unknownOrdering, mayGoOn: () => false } as const
  await using session = await takeStream({ ...short, ...on }, deps)
  return await work(session)
}

/** The same once; undefined while another process holds the stream, and when one has taken it over. */
export async function ifFree<Result>(
  on: HeldStream,
  deps: PumpDeps,
  work: (session: Session) => Promise<Result>,
): Promise<Result | undefined> {
  return await hold(on, deps, work).catch((error: unknown) => {
    if (!isFailure(error, 'held', 'fence_lost')) throw error
    return undefined
  })
}

/** Work on one stream after another: what fails for one of a sink is in the way of no other. */
export class Attempts {
  /** The first of them. */
  failure: Failure | undefined

  /** Throws the Failures of the store, and what is none. */
  async make(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    try {
      await work()
    } catch (error) {
      const isOfSink =
        isFailure(error) && !isFailure(error, 'store_unavailable', 'store_refuses', 'cancelled')
      if (signal.aborted || !isOfSink) throw error
      this.failure ??= error
    }
  }
}

interface ServeDeps {
  readonly store: Store
  readonly clock: Clock
  /** One pump of one page towards the request. */
  pump(signal: AbortSignal): Promise<Failure | undefined>
  /** By the clock of the failures' `retryAt`. */
  now(): number
}

/** Pause between two pages, so that a running process can take the stream. */
const betweenMs = 20

/**
 * Pumps a stream until a read request has its answer: a scan delivers exactly the events that are unseen, with a fence
 * for each page, so that a running process can take the stream in between. Throws a Failure when other processes keep
 * holding the stream, or when it cannot be read.
 */
export async function serveRequest(
  stream: Stream,
  request: ReadRequest,
  { store, clock, pump, now }: ServeDeps,
  signal: AbortSignal,
): Promise<RequestAnswer & { readonly delivered: number }> {
  const read = () => store.ledger.read(stream)
  const before = await read()
  let failures = 0
  for (;;) {
    const checkpoint = await read()
    if (isAnswered(checkpoint, request)) {
      const { counters, lastRequest } = checkpoint!
      return { ...lastRequest!, delivered: counters.delivered - (before?.counters.delivered ?? 0) }
    }
    // Another process may have answered it by the time that the stream is free.
    const pumpOnce = async () => (isAnswered(await read(), request) ? undefined : pump(signal))
    const failure = await retryWhileHeld(pumpOnce, { clock }, signal)
    if (failure === undefined) failures = 0
    else if (!isAnswered(await read(), request)) {
      const waitMs = shortRetryMs(failure, ++failures, now())
      if (waitMs === undefined) throw failure
      await clock.sleep(waitMs, signal)
    }
    await clock.sleep(betweenMs, signal)
  }
}
