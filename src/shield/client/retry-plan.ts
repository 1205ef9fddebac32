import { Failure } from '../../domain/failure.ts'
import type { RequestOutcome } from '../../domain/internal-event.ts'
import type { AccountGate, Clock, Telemetry } from '../../ports/process.ts'
import { backoffMs } from '../../transport/retry.ts'

export interface RetryDeps {
  readonly account: string
  readonly gate: AccountGate
  readonly clock: Clock
  readonly telemetry: Telemetry
  readonly random: () => number
}

/** The tries of one request. */
export interface RetryPlan {
  /** Counts one more try; false when none is left. */
  mayRepeat(): boolean
  /** Waits until the next try; throws the final failure when none is left. */
  waitAfter(failure: Failure, signal: AbortSignal): Promise<void>
}

export interface RetryPlans {
  begin(isRepeatable: boolean): RetryPlan
  /** Resets the count of consecutive 429 answers. */
  succeeded(): void
}

const mostTries = 3
const longestMs = 10_000
const backoff = { baseMs: 500, maxMs: 4_000 }
/** Pause after a 429 without Retry-After: doubled with each consecutive one. */
const pause = { baseMs: 1_000, maxMs: 60_000 }

/**
 * Plans the tries of one request: at most three, all begun within ten seconds, only for requests that may be repeated.
 * A 429 pauses the whole account, so that its other requests do not get the same answer.
 */
export function createRetryPlans({ account, gate, clock, telemetry, random }: RetryDeps): RetryPlans {
  let throttledInRow = 0

  async function pauseAccount({ message, details }: Failure): Promise<Failure> {
    const ownMs = Math.min(pause.maxMs, pause.baseMs * 2 ** Math.min(throttledInRow, 10))
    throttledInRow++
    const retryAt = details.retryAt ?? clock.now() + ownMs
    await gate.pauseUntil(retryAt)
    telemetry.emit({ name: 'ApiThrottled', account, untilMs: retryAt })
    return new Failure('wait', 'throttled', message, { ...details, retryAt })
  }

  function begin(isRepeatable: boolean): RetryPlan {
    const beganMs = clock.monotonic()
    let tries = 1
    const mayRepeat = () => isRepeatable && ++tries <= mostTries
    return {
      mayRepeat,
      async waitAfter(failure, signal) {
        const isAnswer = failure.kind === 'retry' && failure.code === 'throttled'
        const met = isAnswer ? await pauseAccount(failure) : failure
        // A certificate error does not go away within seconds.
        const isPassing = isAnswer || (met.kind === 'retry' && met.code !== 'tls')
        if (!isPassing || !mayRepeat()) throw met
        const { retryAt } = met.details
        const waitMs =
          retryAt === undefined ? backoffMs(tries - 2, backoff, random) : Math.max(0, retryAt - clock.now())
        if (clock.monotonic() - beganMs + waitMs >= longestMs)
          throw retryAt === undefined ? met : new Failure('wait', 'throttled', met.message, met.details)
        await clock.sleep(waitMs, signal)
      },
    }
  }

  return {
    begin,
    succeeded() {
      throttledInRow = 0
    },
  }
}

const outcomes: Partial<Record<Failure['code'], RequestOutcome>> = {
  throttled: 'throttled',
  unauthorised: 'unauthorised',
  timeout: 'timeout',
  network: 'network',
  tls: 'network',
  server_error: 'server_error',
  bad_body: 'bad_body',
}

/** The outcome label under which metrics count a failed try. */
export function outcomeOf({ code }: Failure): RequestOutcome {
  return outcomes[code] ?? 'rejected'
}
