import { cancelled, messageOf, type Failure } from '../../domain/failure.ts'
import type { PlannedStream } from '../../domain/plan/plan.ts'
import { shortRetryMs } from '../../domain/retry.ts'
import { streamKey } from '../../domain/stream.ts'
import type { Clock } from '../../ports/process.ts'
import { sharesOf, sinksOf } from '../fair-share.ts'
import { createPool } from './pool.ts'
import { takeNext } from './take-next.ts'

export interface DrainDeps {
  readonly clock: Clock
  /** All planned streams with their next scans. */
  readonly plan: () => Promise<readonly PlannedStream[]>
  readonly pump: (planned: PlannedStream, signal: AbortSignal) => Promise<Failure | undefined>
  readonly streams: () => number
  readonly heartbeat: () => Promise<void>
  /** Called after each pump, for progress on a terminal. */
  readonly progressed: () => void
}

/** A stream that was given up, and why. */
export interface GivenUp {
  readonly planned: PlannedStream
  readonly reason: string
}

const heartbeatMs = 5_000
/** Streams are planned again at least this often, and at most as often as the next value. */
const roundMs = 1_000
const shortestRoundMs = 250

/** Pumps every planned stream until no scan is due any more; returns those that were given up. Throws Failure. */
export async function drain(deps: DrainDeps, signal: AbortSignal): Promise<GivenUp[]> {
  const { clock } = deps
  const pool = createPool(deps.streams)
  const attempts = createAttempts(clock)
  const ending = new AbortController()
  const either = AbortSignal.any([signal, ending.signal])
  const isHeardAgain = createTimer(clock, heartbeatMs)

  async function work(planned: PlannedStream): Promise<void> {
    const failure = await deps.pump(planned, either).catch((error: unknown) => error)
    // A pump that was aborted has not failed.
    if (failure !== undefined && !either.aborted) attempts.failed(planned, failure)
    else attempts.succeeded(planned)
    deps.progressed()
  }

  /** False when no scan is due any more. */
  async function round(): Promise<boolean> {
    if (isHeardAgain()) await deps.heartbeat()
    const isOver = createTimer(clock, roundMs)
    isOver()
    const wanted = (await deps.plan()).filter(({ dueAtMs }) => dueAtMs !== Infinity).filter(attempts.goesOn)
    if (wanted.length === 0) return false
    const mayStart = (planned: PlannedStream) =>
      !pool.has(streamKey(planned.stream)) && attempts.mayTry(planned)
    const queue = wanted.filter(mayStart)
    const shares = sharesOf(deps.streams(), sinksOf(wanted))
    while (queue.length > 0 && !isOver()) {
      const planned = takeNext(queue, pool, shares)
      if (planned === undefined) await pool.next(clock, shortestRoundMs, signal)
      else if (mayStart(planned))
        pool.run(streamKey(planned.stream), planned.stream.sink, () => work(planned))
    }
    await pool.next(clock, shortestRoundMs, signal)
    return true
  }

  try {
    for (let failures = 0; ;) {
      signal.throwIfAborted()
      try {
        if (!(await round())) return attempts.givenUp()
        failures = 0
      } catch (error) {
        const waitMs = shortRetryMs(error, ++failures, clock.now())
        if (signal.aborted || waitMs === undefined) throw error
        await clock.sleep(waitMs, signal)
      }
    }
  } catch (error) {
    ending.abort(cancelled(error))
    throw error
  } finally {
    await pool.drained()
  }
}

/** True at the first call, and then at the first call after each interval. */
function createTimer(clock: Clock, everyMs: number): () => boolean {
  let lastMs = -Infinity
  return () => {
    if (clock.monotonic() - lastMs < everyMs) return false
    lastMs = clock.monotonic()
    return true
  }
}

/** Counts failures in a row of each stream, and decides when it is retried or given up. */
function createAttempts(clock: Clock) {
  const failures = new Map<string, number>()
  const waitUntil = new Map<string, number>()
  const givenUp = new Map<string, GivenUp>()
  return {
    goesOn: ({ stream }: PlannedStream) => !givenUp.has(streamKey(stream)),
    mayTry: ({ stream }: PlannedStream) => (waitUntil.get(streamKey(stream)) ?? 0) <= clock.monotonic(),
    succeeded: ({ stream }: PlannedStream) => void failures.delete(streamKey(stream)),
    failed(planned: PlannedStream, failure: unknown) {
      const key = streamKey(planned.stream)
      const count = (failures.get(key) ?? 0) + 1
      failures.set(key, count)
      const waitMs = shortRetryMs(failure, count, clock.now())
      if (waitMs !== undefined) waitUntil.set(key, clock.monotonic() + waitMs)
      else givenUp.set(key, { planned, reason: messageOf(failure) })
    },
    givenUp: () => [...givenUp.values()],
  }
}
