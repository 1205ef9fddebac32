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

interface HeldPage {
  readonly sink: string | undefined
  bytes: number
}

/** A quarter of the budget stays free for the last sink even when all others hang. */
function shareOf(maxBytes: number, sinks: number): number {
  return sinks < 2 ? maxBytes : (maxBytes * 3) / 4 / (sinks - 1)
}

function bytesOf(pages: Iterable<HeldPage>): number {
  let bytes = 0
  for (const page of pages) bytes += page.bytes
  return bytes
}

/** Memory for pages of the whole process. */
export class PageBudget {
  readonly #maxBytes: number
  readonly #waiters = new Set<Waiter>()
  readonly #held = new Set<HeldPage>()
  /** Every sink that ever reserved memory. */
  readonly #sinks = new Set<string>()

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get heldBytes(): number {
    return bytesOf(this.#held)
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
      if (sink !== undefined) this.#sinks.add(sink)
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
    const isWaitedFor = this.#waiters.values().some((waiter) => waiter.sink === sink)
    return isWaitedFor || !this.#fits(bytes, sink) ? undefined : this.#hold({ sink, bytes })
  }

  #fits(bytes: number, sink: string | undefined): boolean {
    const own = [...this.#held].filter((page) => page.sink === sink)
    if (own.length === 0) return true
    const share = shareOf(this.#maxBytes, this.#sinks.size)
    return this.heldBytes + bytes <= this.#maxBytes && bytesOf(own) + bytes <= share
  }

  #admitNext(): void {
    const waiting = new Set<string | undefined>()
    for (const waiter of this.#waiters) {
      const { sink } = waiter
      if (waiting.has(sink)) continue
      const bytes = waiter.estimate()
      if (this.#fits(bytes, sink)) {
        this.#waiters.delete(waiter)
        waiter.admit(this.#hold({ sink, bytes }))
      } else waiting.add(sink)
    }
  }

  #hold(page: HeldPage): Reservation {
    this.#held.add(page)
    return {
      resize: (bytes) => {
        page.bytes = bytes
        this.#admitNext()
      },
      release: () => {
        if (this.#held.delete(page)) this.#admitNext()
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
