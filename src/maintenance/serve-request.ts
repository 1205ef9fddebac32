import type { Checkpoint } from '../domain/checkpoint.ts'
import { isAnswered } from '../domain/answer-request.ts'
import type { ReadRequest, RequestAnswer } from '../domain/read-request.ts'
import { isFailure, type Failure } from '../domain/failure.ts'
import type { Stream } from '../domain/stream.ts'
import type { Clock } from '../ports/clock.ts'
import type { Store } from '../ports/store.ts'

export interface ServeDeps {
  readonly store: Store
  readonly clock: Clock
  /** One pump of one page towards the request. */
  pump(signal: AbortSignal): Promise<Failure | undefined>
  /** By the clock that back-offs are told by. */
  now(): number
}

/** What became of a request, and what the stream gained meanwhile. */
export interface Served extends RequestAnswer {
  readonly delivered: number
  readonly deadLetters: number
}

const heldRetryMs = 250
const heldPatienceMs = 60_000
const mostFailures = 4
const longestWaitMs = 60_000
/** Between two pages, so that a running process gets at the stream. */
const betweenMs = 20

/**
 * Pumps a stream until a read request has its answer: a scan delivers exactly the events that are unseen, page by page
 * with a fence for each, so that a running process gets at the stream in between. Throws a Failure when the stream stays
 * held by others, or fails for good.
 */
export async function serveRequest(
  stream: Stream,
  request: ReadRequest,
  { store, clock, pump, now }: ServeDeps,
  signal: AbortSignal,
): Promise<Served> {
  const before = await store.ledger.read(stream)
  let heldSinceMs: number | undefined
  let failures = 0
  for (;;) {
    const checkpoint = await store.ledger.read(stream)
    if (isAnswered(checkpoint, request)) return { ...checkpoint!.lastRequest!, ...gainOf(before, checkpoint) }
    try {
      const failure = await pump(signal)
      heldSinceMs = undefined
      if (failure === undefined) failures = 0
      else if (!isAnswered(await store.ledger.read(stream), request))
        await clock.sleep(waitAfter(failure, ++failures, now()), signal)
      await clock.sleep(betweenMs, signal)
    } catch (error) {
      if (!isFailure(error, 'held') && !isFailure(error, 'fence_lost')) throw error
      heldSinceMs ??= clock.monotonic()
      if (clock.monotonic() - heldSinceMs >= heldPatienceMs) throw error
      await clock.sleep(heldRetryMs, signal)
    }
  }
}

function waitAfter(failure: Failure, failures: number, nowMs: number): number {
  const isPassing = failure.kind === 'retry' || failure.kind === 'wait' || failure.code === 'cursor_expired'
  const waitMs = Math.max((failure.details.retryAt ?? 0) - nowMs, 500 * 2 ** failures)
  if (!isPassing || failures >= mostFailures || waitMs > longestWaitMs) throw failure
  return waitMs
}

function gainOf(
  before: Checkpoint | undefined,
  after: Checkpoint | undefined,
): Pick<Served, 'delivered' | 'deadLetters'> {
  const gain = (name: 'delivered' | 'deadLetters') =>
    (after?.counters[name] ?? 0) - (before?.counters[name] ?? 0)
  return { delivered: gain('delivered'), deadLetters: gain('deadLetters') }
}
