import { cancelled } from '../domain/failure.ts'

/** A share of the bytes that the pages of this process may hold at once. */
export interface Reservation {
  /** Tells the real size once it is known. */
  resize(bytes: number): void
  /** Gives the share back. Safe twice. */
  release(): void
}

export interface PageBudget {
  /**
   * Waits in line for room. First come, first served, whatever the size; when nothing is held the first in line passes
   * even with a page larger than the whole budget. Throws Failure `cancelled` as soon as the signal aborts.
   *
   * A pump may hold a page while it waits here for the next one: it gives the first one back by delivering it, and
   * delivering never waits for the next page, so every line moves on.
   *
   * The estimate in bytes is asked for anew whenever there may be room: pages that came meanwhile taught it.
   */
  reserve(estimate: () => number, signal: AbortSignal): Promise<Reservation>
  readonly heldBytes: number
}

interface Waiter {
  readonly estimate: () => number
  readonly admit: (reservation: Reservation) => void
}

export function createPageBudget(maxBytes: number): PageBudget {
  const line = new Set<Waiter>()
  let heldBytes = 0
  /** Apart from the bytes: pages of no size are held, too. */
  let held = 0

  function admitNext(): void {
    for (const waiter of line) {
      const bytes = waiter.estimate()
      if (held > 0 && heldBytes + bytes > maxBytes) return
      line.delete(waiter)
      waiter.admit(hold(bytes))
    }
  }

  function hold(bytes: number): Reservation {
    let own = bytes
    let isReleased = false
    held++
    heldBytes += own
    return {
      resize(next) {
        if (isReleased) return
        heldBytes += next - own
        own = next
        admitNext()
      },
      release() {
        if (isReleased) return
        isReleased = true
        held--
        heldBytes -= own
        admitNext()
      },
    }
  }

  return {
    get heldBytes() {
      return heldBytes
    },
    reserve(estimate, signal) {
      return new Promise((resolve, reject) => {
        if (signal.aborted) return reject(cancelled(signal.reason))
        const waiter: Waiter = {
          estimate,
          admit(reservation) {
            signal.removeEventListener('abort', leave)
            resolve(reservation)
          },
        }
        function leave(): void {
          line.delete(waiter)
          reject(cancelled(signal.reason))
          // Whoever stood behind a large one may fit now.
          admitNext()
        }
        signal.addEventListener('abort', leave, { once: true })
        line.add(waiter)
        admitNext()
      })
    },
  }
}

/**
 * What a page holds in memory for each byte of its decoded body, as measured: its entries 1.6 times, and the bytes and
 * the text that they were read from, which stay until the collector comes by.
 */
const heldPerByte = 4

/** Pages differ little from one to the next; this is how much larger one may be before it counts only on arrival. */
const margin = 1.25
const remembered = 16
const leastBytes = 16_384

/** What the pages of one account hold. */
export interface PageEstimate {
  /** What the next page will need: the largest page until one was seen, then somewhat more than the last ones. */
  next(): number
  /** What a body of that many bytes holds, once its entries are events. */
  heldBy(bytes: number): number
  saw(bytes: number): void
}

export function createPageEstimate(maxPageBytes: number): PageEstimate {
  const sizes: number[] = []
  const heldBy = (bytes: number) => bytes * heldPerByte
  return {
    next() {
      if (sizes.length === 0) return heldBy(maxPageBytes)
      return heldBy(Math.min(maxPageBytes, Math.max(leastBytes, ...sizes) * margin))
    },
    heldBy,
    saw(bytes) {
      sizes.push(bytes)
      if (sizes.length > remembered) sizes.shift()
    },
  }
}
