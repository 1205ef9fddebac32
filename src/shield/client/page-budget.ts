import { cancelled } from '../../domain/failure.ts'

/** Room for one page among those that this process may hold at once. */
export interface Reservation {
  /** Tells the real size once it is known. */
  resize(bytes: number): void
  /** Gives the room back. Safe twice. */
  release(): void
}

export interface PageBudget {
  /**
   * Waits for room for a page of that sink; pages that are for no sink (an audit) share as one. A sink that holds no page
   * passes, even with one that is larger than the whole budget; further pages pass within the budget and the sink's share
   * of it, first come, first served for each sink. So a sink that hangs keeps its share, and the others go on. Throws
   * Failure `cancelled` as soon as the signal aborts.
   *
   * A pump may hold a page while it waits here for the next one: it gives the first one back by delivering it, and
   * delivering never waits for the next page, so every line moves on.
   *
   * The estimate in bytes is asked for anew whenever there may be room: pages that came meanwhile taught it.
   */
  reserve(estimate: () => number, signal: AbortSignal, sink?: string): Promise<Reservation>
  readonly heldBytes: number
}

interface Waiter {
  readonly sink: string | undefined
  readonly estimate: () => number
  readonly admit: (reservation: Reservation) => void
}

interface Held {
  bytes: number
  /** Apart from the bytes: pages of no size are held, too. */
  pages: number
}

/** A quarter of the budget stays with the other sinks, even where all of them but one hang. */
function shareOf(maxBytes: number, sinks: number): number {
  return sinks < 2 ? maxBytes : (maxBytes * 3) / 4 / (sinks - 1)
}

export function createPageBudget(maxBytes: number): PageBudget {
  const line = new Set<Waiter>()
  /** Every sink that ever asked. */
  const heldBySink = new Map<string | undefined, Held>()
  let heldBytes = 0

  function heldBy(sink: string | undefined): Held {
    const held = heldBySink.get(sink) ?? { bytes: 0, pages: 0 }
    heldBySink.set(sink, held)
    return held
  }

  function fits(bytes: number, { bytes: own, pages }: Held): boolean {
    if (pages === 0) return true
    const sinks = [...heldBySink.keys()].filter((sink) => sink !== undefined).length
    return heldBytes + bytes <= maxBytes && own + bytes <= shareOf(maxBytes, sinks)
  }

  function admitNext(): void {
    const waiting = new Set<string | undefined>()
    for (const waiter of line) {
      if (waiting.has(waiter.sink)) continue
      const bytes = waiter.estimate()
      const held = heldBy(waiter.sink)
      if (fits(bytes, held)) {
        line.delete(waiter)
        waiter.admit(hold(bytes, held))
      } else waiting.add(waiter.sink)
    }
  }

  function hold(bytes: number, held: Held): Reservation {
    let own = 0
    let isReleased = false
    function resize(next: number): void {
      held.bytes += next - own
      heldBytes += next - own
      own = next
    }
    held.pages++
    resize(bytes)
    return {
      resize(next) {
        if (isReleased) return
        resize(next)
        admitNext()
      },
      release() {
        if (isReleased) return
        isReleased = true
        held.pages--
        resize(0)
        admitNext()
      },
    }
  }

  return {
    get heldBytes() {
      return heldBytes
    },
    reserve(estimate, signal, sink) {
      return new Promise((resolve, reject) => {
        if (signal.aborted) return reject(cancelled(signal.reason))
        const waiter: Waiter = {
          sink,
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
