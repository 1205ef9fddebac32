import { Failure, isFailure, messageOf } from '../../domain/failure.ts'
import type { Clock } from '../../ports/process.ts'

interface Deps {
  readonly clock: Clock
  /** Names the sink and its destination in failures, without secrets. */
  readonly what: string
}

/** Which of these the destination has stored. Throws Failure. */
type Poll = (waiting: readonly number[]) => Promise<readonly number[]>

interface Confirmed {
  readonly stored: ReadonlySet<number>
  /** Why the others are not among them. */
  readonly failure?: Failure
}

const confirmWithinMs = 300_000
const firstPollMs = 250
const longestPollMs = 10_000

/** The receipts of bodies that a destination has queued, until it confirms that it has stored them. */
export class Receipts {
  readonly #deps: Deps
  readonly #open = new Set<number>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /**
   * Begins to wait for a receipt. False where another body waits under the same one: the destination has restarted, or
   * another server of it has answered, and a confirmation would not say which of the two is stored. Then neither is
   * confirmed.
   */
  begin(receipt: number): boolean {
    if (this.#open.delete(receipt)) return false
    this.#open.add(receipt)
    return true
  }

  /**
   * Polls for all of them together until each is confirmed, for five minutes at most. A poll that fails is repeated; what
   * no repetition can help (stop), and an abort, end the wait at once. Never rejects with a Failure.
   */
  async confirmed(receipts: readonly number[], poll: Poll, signal: AbortSignal): Promise<Confirmed> {
    const stored = new Set<number>()
    let failure: Failure | undefined
    try {
      await this.#wait(receipts, stored, poll, signal)
    } catch (error) {
      if (!isFailure(error)) throw error
      failure = error
    } finally {
      for (const receipt of receipts) this.#open.delete(receipt)
    }
    if (stored.size === receipts.length) return { stored }
    return { stored, failure: failure ?? this.#unconfirmed('gave one acknowledgement id to two bodies') }
  }

  async #wait(
    receipts: readonly number[],
    stored: Set<number>,
    poll: Poll,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock } = this.#deps
    const untilMs = clock.monotonic() + confirmWithinMs
    let failure: Failure | undefined
    for (let polls = 0; ; polls++) {
      const waiting = receipts.filter((receipt) => this.#open.has(receipt))
      if (waiting.length === 0) return
      const pauseMs = Math.min(firstPollMs * 2 ** polls, longestPollMs)
      const waitMs = Math.max(pauseMs, (failure?.details.retryAt ?? 0) - clock.now())
      if (clock.monotonic() + waitMs > untilMs)
        throw this.#unconfirmed('did not confirm within 5 minutes that it has stored the events', failure)
      await clock.sleep(waitMs, signal)
      try {
        for (const receipt of await poll(waiting)) if (this.#open.delete(receipt)) stored.add(receipt)
        failure = undefined
      } catch (error) {
        if (!isFailure(error) || (error.kind !== 'retry' && error.kind !== 'wait')) throw error
        failure = error
      }
    }
  }

  #unconfirmed(why: string, cause?: Failure): Failure {
    const last = cause === undefined ? '' : ` (${messageOf(cause)})`
    const remedy =
      'check its indexing queues, and that a load balancer before it keeps sessions on one server'
    return new Failure(
      'retry',
      'timeout',
      `${this.#deps.what} ${why}${last}, so they are sent again; ${remedy}`,
    )
  }
}
