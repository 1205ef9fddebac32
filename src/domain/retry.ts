import type { Trouble } from './checkpoint.ts'
import { isFailure, type Failure } from './failure.ts'
import type { Waits } from './promises.ts'

/** Transient failures are retried soon; failures that will repeat, and those that a person must fix, slowly. */
const backoffs: Record<Failure['kind'], { readonly firstMs: number; readonly mostMs: number }> = {
  retry: { firstMs: 2_000, mostMs: 60_000 },
  wait: { firstMs: 2_000, mostMs: 60_000 },
  refuse: { firstMs: 30_000, mostMs: 3_600_000 },
  stop: { firstMs: 15_000, mostMs: 300_000 },
  cancelled: { firstMs: 0, mostMs: 0 },
}

/** As soon as those that pass by themselves: a replay or a drop makes room, and nothing tells the stream. */
const backoffOf = ({ kind, code }: Failure) => backoffs[code === 'dead_letters_full' ? 'retry' : kind]

/** Trouble with the listing as a whole lasts until a scan is complete; any other trouble until a page is committed. */
export function isListingTrouble({ code }: Pick<Trouble, 'code'>): boolean {
  return code === 'scan_guarded' || code === 'cursor_expired' || code === 'page_too_large'
}

/**
 * The stream's trouble after one more failure: exponential back-off with jitter, and no retry before the time that the
 * destination named (`notBeforeMs`, by the clock of `nowMs`).
 */
export function troubleAfter(
  before: Trouble | undefined,
  failure: Failure,
  at: { readonly nowMs: number; readonly notBeforeMs?: number | undefined },
  random: () => number,
): Trouble {
  const { kind, code, message } = failure
  const { nowMs, notBeforeMs = 0 } = at
  const same = [before, before?.under].find((trouble) => trouble?.code === code)
  const listing = before !== undefined && isListingTrouble(before) ? before : before?.under
  const count = (same?.count ?? 0) + 1
  const { firstMs, mostMs } = backoffOf(failure)
  // A time that the destination names replaces the growing back-off, which would delay the stream beyond the pause. A
  // pause of at most `firstMs` does not.
  const isNamed = kind === 'wait' && notBeforeMs - nowMs > firstMs
  const fullMs = isNamed ? firstMs : Math.min(mostMs, firstMs * 2 ** Math.min(count - 1, 30))
  return {
    kind,
    code,
    message,
    count,
    sinceMs: same?.sinceMs ?? nowMs,
    atMs: nowMs,
    // Half is fixed, to keep a minimum delay; half is random, so that streams do not retry all at once.
    retryAtMs: Math.max(nowMs + fullMs / 2 + (random() * fullMs) / 2, notBeforeMs),
    ...(listing !== undefined && !isListingTrouble(failure) && { under: listing }),
  }
}

/** The trouble after a committed page: a transient one ends, and the listing's trouble before it is in force again. */
export function troubleAfterPage(before: Trouble | undefined): Trouble | undefined {
  if (before === undefined || isListingTrouble(before)) return before
  const { under, atMs, retryAtMs } = before
  return under && { ...under, atMs, retryAtMs }
}

const mostFailures = 4
/** Of a destination that names its times, each of which it makes longer where it is asked too early. */
const mostWaits = 12
/** A destination that asks for a longer wait than this is tried by the next run. */
const longestWaitMs = 60_000

/**
 * How long a caller waits before its next try, after this many failures in a row; undefined when it must give up: the
 * failure is not transient, there were too many, or the wait would be too long.
 */
export function shortRetryMs(failure: unknown, failures: number, nowMs: number): number | undefined {
  if (!isFailure(failure)) return undefined
  const { kind, code, details } = failure
  if (failures >= (kind === 'wait' ? mostWaits : mostFailures)) return undefined
  const isPassing = kind === 'retry' || kind === 'wait' || code === 'cursor_expired'
  const waitMs = Math.max((details.retryAt ?? 0) - nowMs, 500 * 2 ** Math.min(failures, mostFailures))
  return isPassing && waitMs <= longestWaitMs ? waitMs : undefined
}

interface RetryWhileHeld {
  readonly clock: Waits & { monotonic(): number }
  readonly patienceMs?: number
  readonly everyMs?: number
  /** What says that another process has the stream, or took it over in between; default: both. */
  readonly codes?: readonly ('held' | 'fence_lost')[]
}

/** A pump releases a stream when its time slice ends; a command that died holds it for 20 s. */
export async function retryWhileHeld<Result>(
  work: () => Promise<Result>,
  { clock, patienceMs = 60_000, everyMs = 250, codes = ['held', 'fence_lost'] }: RetryWhileHeld,
  signal: AbortSignal,
): Promise<Result> {
  const untilMs = clock.monotonic() + patienceMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isFailure(error, ...codes) || clock.monotonic() >= untilMs) throw error
      await clock.sleep(everyMs, signal)
    }
  }
}
