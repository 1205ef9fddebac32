import { cancelled } from '../../domain/failure.ts'

/** Memory reserved for one page, out of the budget of this process. */
export interface Reservation {
  /** Replaces the estimate by the real size. */
  resize(bytes: number): void
  /** Releases the reservation. Idempotent. */
  release(): void
}

interface Waiter {
  readonly sink: string | undefined
  readonly estimate: () => number
  readonly admit: (reservation: Reservation) => void
}

interface Held {
  bytes: number
  /** Counted apart from the bytes, because a page of size 0 counts as held, too. */
  pages: number
}

/** A quarter of the budget stays free for the last sink even when all others hang. */
function shareOf(maxBytes: number, sinks: number): number {
  return sinks < 2 ? maxBytes : (maxBytes * 3) / 4 / (sinks - 1)
}

/** Memory for pages of the whole process. */
export class PageBudget {
  readonly #maxBytes: number
  readonly #waiters = new Set<Waiter>()
  /** Every sink that ever reserved memory. */
  readonly #heldBySink = new Map<string | undefined, Held>()
  #heldBytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  /**
   * Waits for memory for a page of that sink; pages for no sink (an audit) share one queue. A sink that holds no page
   * is admitted at once, even with a page larger than the whole budget. Its further pages are admitted, first come,
   * first served for each sink, while they fit the budget and the sink's share of it, so a sink that hangs does not
   * block the others. Throws Failure `cancelled` as soon as the signal aborts.
   *
   * A pump that holds pages asks `reserveIfRoom` for the next one, and never waits here: pumps would wait for each other.
   *
   * The estimate (bytes) is taken again whenever memory is released: pages that arrived meanwhile may have changed it.
   */
  reserve(estimate: () => number, signal: AbortSignal, sink?: string): Promise<Reservation> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(cancelled(signal.reason))
      const leave = (): void => {
        this.#waiters.delete(waiter)
        reject(cancelled(signal.reason))
        // A waiter behind a large request may fit now.
        this.#admitNext()
      }
      const admit = (reservation: Reservation): void => {
        signal.removeEventListener('abort', leave)
        resolve(reservation)
      }
      const waiter: Waiter = { sink, estimate, admit }
      signal.addEventListener('abort', leave, { once: true })
      this.#waiters.add(waiter)
      this.#admitNext()
    })
  }

  /** Undefined where there is none now, or others of the sink wait for it. */
  reserveIfRoom(bytes: number, sink?: string): Reservation | undefined {
    const held = this.#heldBy(sink)
    const isWaitedFor = this.#waiters.values().some((waiter) => waiter.sink === sink)
    return isWaitedFor || !this.#fits(bytes, held) ? undefined : this.#hold(bytes, held)
  }

  #heldBy(sink: string | undefined): Held {
    const held = this.#heldBySink.get(sink) ?? { bytes: 0, pages: 0 }
    this.#heldBySink.set(sink, held)
    return held
  }

  #fits(bytes: number, { bytes: own, pages }: Held): boolean {
    if (pages === 0) return true
    const sinks = [...this.#heldBySink.keys()].filter((sink) => sink !== undefined).length
    return this.#heldBytes + bytes <= this.#maxBytes && own + bytes <= shareOf(this.#maxBytes, sinks)
  }

  #admitNext(): void {
    const waiting = new Set<string | undefined>()
    for (const waiter of this.#waiters) {
      if (waiting.has(waiter.sink)) continue
      const bytes = waiter.estimate()
      const held = this.#heldBy(waiter.sink)
      if (this.#fits(bytes, held)) {
        this.#waiters.delete(waiter)
        waiter.admit(this.#hold(bytes, held))
      } else waiting.add(waiter.sink)
    }
  }

  #hold(bytes: number, held: Held): Reservation {
    let own = 0
    let isReleased = false
    const resize = (next: number): void => {
      held.bytes += next - own
      this.#heldBytes += next - own
      own = next
    }
    held.pages++
    resize(bytes)
    return {
      resize: (next) => {
        if (isReleased) return
        resize(next)
        this.#admitNext()
      },
      release: () => {
        if (isReleased) return
        isReleased = true
        held.pages--
        resize(0)
        this.#admitNext()
      },
    }
  }
}

/**
 * Memory of a page per byte of its decoded body, as measured: its entries take 1.6, the bytes and the text that they
 * were parsed from take the rest until the garbage collector frees them.
 */
const heldPerByte = 4

/** Pages vary little in size; this factor covers the difference before the real size is known. */
const margin = 1.25
const remembered = 16
const leastBytes = 16_384

/** Estimates how much memory the pages of one account take. */
export class PageSizes {
  readonly #maxPageBytes: number
  readonly #sizes: number[] = []

  constructor(maxPageBytes: number) {
    this.#maxPageBytes = maxPageBytes
  }

  /** Estimate for the next page: the page limit at first, then the largest of the last pages plus a margin. */
  next(): number {
    if (this.#sizes.length === 0) return this.heldBy(this.#maxPageBytes)
    return this.heldBy(Math.min(this.#maxPageBytes, Math.max(leastBytes, ...this.#sizes) * margin))
  }

  /** Memory of a body of that many bytes once its entries are events. */
  heldBy(bytes: number): number {
    return bytes * heldPerByte
  }

  saw(bytes: number): void {
    this.#sizes.push(bytes)
    if (this.#sizes.length > remembered) this.#sizes.shift()
  }
}
