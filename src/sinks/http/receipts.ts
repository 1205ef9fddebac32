import { Failure, isFailure, messageOf } from '../../domain/failure.ts'
import type { Clock } from '../../ports/process.ts'

/** Which of these the destination has stored. Throws Failure. */
type Poll = (waiting: readonly number[]) => Promise<readonly number[]>

const confirmWithinMs = 300_000
const firstPollMs = 250
const longestPollMs = 10_000

/** The receipts of bodies that a destination has queued, until it confirms that it has stored them. */
export class Receipts {
  readonly #clock: Clock
  /** Names the sink and its destination in failures, without secrets. */
  readonly #what: string
  readonly #open = new Set<number>()

  constructor(clock: Clock, what: string) {
    this.#clock = clock
    this.#what = what
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
   * no repetition can help (stop), and an abort, end the wait at once. Throws Failure unless all are confirmed.
   */
  async confirm(
    receipts: readonly number[],
    poll: Poll,
    onStored: (receipt: number) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const untilMs = this.#clock.monotonic() + confirmWithinMs
    let left = receipts.length
    let failure: Failure | undefined
    try {
      for (let polls = 0; ; polls++) {
        const waiting = receipts.filter((receipt) => this.#open.has(receipt))
        if (waiting.length === 0) break
        const pauseMs = Math.min(firstPollMs * 2 ** polls, longestPollMs)
        const waitMs = Math.max(pauseMs, (failure?.details.retryAt ?? 0) - this.#clock.now())
        if (this.#clock.monotonic() + waitMs > untilMs)
          throw this.#unconfirmed('did not confirm within 5 minutes that it has stored the events', failure)
        await this.#clock.sleep(waitMs, signal)
        try {
          const stored = (await poll(waiting)).filter((receipt) => this.#open.delete(receipt))
          stored.forEach(onStored)
          left -= stored.length
          failure = undefined
        } catch (error) {
          if (!isFailure(error) || (error.kind !== 'retry' && error.kind !== 'wait')) throw error
          failure = error
        }
      }
    } finally {
      for (const receipt of receipts) this.#open.delete(receipt)
    }
    if (left > 0) throw this.#unconfirmed('gave one acknowledgement id to two bodies')
  }

  #unconfirmed(why: string, cause?: Failure): Failure {
    const last = cause === undefined ? '' : ` (${messageOf(cause)})`
    const remedy =
      'check its indexing queues, and that a load balancer before it keeps sessions on one server'
    return new Failure('retry', 'timeout', `${this.#what} ${why}${last}, so they are sent again; ${remedy}`)
  }
}
