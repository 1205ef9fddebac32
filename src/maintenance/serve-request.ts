import type { Checkpoint, RequestAnswer } from '../domain/checkpoint.ts'
import { isAnswered, type ReadRequest } from '../domain/read-request.ts'
import type { Failure } from '../domain/failure.ts'
import { shortRetryMs, retryWhileHeld } from '../domain/retry.ts'
import type { Stream } from '../domain/stream.ts'
import type { Clock } from '../ports/process.ts'
import type { Store } from '../ports/store.ts'

interface ServeDeps {
  readonly store: Store
  readonly clock: Clock
  /** One pump of one page towards the request. */
  pump(signal: AbortSignal): Promise<Failure | undefined>
  /** By the clock of the failures' `retryAt`. */
  now(): number
}

const gained = ['delivered', 'deadLetters', 'filtered', 'skipped'] as const

/** What a stream gained until its request was answered. */
type Gained = Readonly<Record<(typeof gained)[number], number>>

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
): Promise<RequestAnswer & Gained> {
  const read = () => store.ledger.read(stream)
  const before = await read()
  let failures = 0
  for (;;) {
    const checkpoint = await read()
    if (isAnswered(checkpoint, request)) return { ...checkpoint!.lastRequest!, ...gainOf(before, checkpoint) }
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

function gainOf(before: Checkpoint | undefined, after: Checkpoint | undefined): Gained {
  const gains = gained.map((name) => [name, (after?.counters[name] ?? 0) - (before?.counters[name] ?? 0)])
  return Object.fromEntries(gains) as Gained
}
