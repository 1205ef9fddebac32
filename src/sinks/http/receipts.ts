import { Failure, isFailure } from '../../domain/failure.ts'
import type { Clock } from '../../ports/process.ts'

/** What is to be done once the destination has confirmed that it has stored a body, by the receipt of the body. */
export type Waiting = ReadonlyMap<number, () => void>

/** Which of these the destination has stored. Throws Failure. */
type Poll = (asked: readonly number[]) => Promise<readonly number[]>

const confirmWithinMs = 300_000
const firstPollMs = 250
const longestPollMs = 10_000

/** The receipts of bodies that a destination has queued, until it confirms that it has stored them. */
export function createReceipts(clock: Clock, what: string) {
  /** Each with whether it is that of one body alone, until the wait for the first of them ends. */
  const open = new Map<number, boolean>()
  const isAlone = (receipt: number) => open.get(receipt) === true
  const unconfirmed = (why: string, last = '') =>
    new Failure('retry', 'timeout', `${what} ${why}${last}, so they are sent again; ${remedy}`)

  return {
    /**
     * Begins to wait for a receipt. False where another body waits under the same one: the destination has restarted, or
     * another server of it has answered, and a confirmation would not say which of the two is stored. Then neither is
     * confirmed.
     */
    begin(receipt: number): boolean {
      open.set(receipt, !open.has(receipt))
      return isAlone(receipt)
    },

    /**
     * Polls for all of them together until each is confirmed, for five minutes at most. A poll that fails is repeated;
     * what no repetition can help (stop), and an abort, end the wait at once. Throws Failure unless all are confirmed.
     */
    async confirm(waiting: Waiting, poll: Poll, signal: AbortSignal): Promise<void> {
      const untilMs = clock.monotonic() + confirmWithinMs
      const left = new Set(waiting.keys())
      let failure: Failure | undefined
      try {
        for (let polls = 0; ; polls++) {
          const asked = [...left].filter(isAlone)
          if (asked.length === 0) break
          const pauseMs = Math.min(firstPollMs * 2 ** polls, longestPollMs)
          const waitMs = Math.max(pauseMs, (failure?.details.retryAt ?? 0) - clock.now())
          if (clock.monotonic() + waitMs > untilMs)
            throw unconfirmed(late, failure && ` (${failure.message})`)
          await clock.sleep(waitMs, signal)
          try {
            for (const receipt of (await poll(asked)).filter(isAlone)) {
              open.delete(receipt)
              left.delete(receipt)
              waiting.get(receipt)?.()
            }
            failure = undefined
          } catch (error) {
            if (!isFailure(error) || (error.kind !== 'retry' && error.kind !== 'wait')) throw error
            failure = error
          }
        }
      } finally {
        for (const receipt of left) open.delete(receipt)
      }
      if (left.size > 0) throw unconfirmed('gave one acknowledgement id to two bodies')
    },
  }
}

const late = 'did not confirm within 5 minutes that it has stored the events'
const remedy = 'check its indexing queues, and that a load balancer before it keeps sessions on one server'
