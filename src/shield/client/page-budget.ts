import { cancelled, noRoom } from '../../domain/failure.ts'
import { orAborted } from '../../domain/promises.ts'

/** One holder's reservation of memory for a page, out of the budget of this process. */
export interface Reservation {
  /** Replaces the estimate by the real size. */
  resize(bytes: number): void
  /** Idempotent. The memory is free once every holder has released the page. */
  release(): void
  /**
   * The reservation of another holder of the same page, for its sink, also once all have released it; undefined where
   * there is no room.
   */
  join(sink: string | undefined): Reservation | undefined
  /** The same in exchange for one of that sink for another page, whatever their sizes. */
  exchange(own: Reservation, sink: string | undefined): Reservation
}

interface Waiter {
  readonly sink: string | undefined
  readonly estimate: () => number
  readonly admit: (reservation: Reservation) => void
}

/** What one sink holds. */
interface Share {
  pages: number
  bytes: number
}

interface HeldPage {
  bytes: number
  readonly holders: Set<{ readonly share: Share }>
}

export class PageBudget {
  heldBytes = 0
  readonly #maxBytes: number
  readonly #waiters = new Set<Waiter>()
  /** Of every sink that ever held a page, also of one that only joins; and of pages for no sink. */
  readonly #shares = new Map<string | undefined, Share>([[undefined, { pages: 0, bytes: 0 }]])

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /**
   * Waits for memory for a page of that sink; pages for no sink (an audit) share one queue. A sink that holds no page
   * is admitted at once, even with a page larger than the whole budget. Its further pages are admitted, first come,
   * first served for each sink, while they fit the budget and the sink's share of it, so a sink that hangs does not
   * block the others. Throws Failure `cancelled` as soon as the signal aborts.
   *
   * A pump that holds pages never waits for the next one, since pumps would wait for each other: with `ifRoom` this
   * throws `no_room` (cancelled) instead.
   *
   * The estimate (bytes) is taken again whenever memory is released: pages that arrived meanwhile may have changed it.
   */
  async reserve(
    estimate: () => number,
    signal: AbortSignal,
    sink?: string,
    ifRoom = false,
  ): Promise<Reservation> {
    if (signal.aborted) throw cancelled(signal.reason)
    if (ifRoom) {
      const room = this.reserveIfRoom(estimate(), sink)
      if (room === undefined) throw noRoom()
      return room
    }
    const { promise: admitted, resolve: admit } = Promise.withResolvers<Reservation>()
    const waiter = { sink, estimate, admit }
    this.#waiters.add(waiter)
    this.#admitNext()
    try {
      return await orAborted(admitted, signal)
    } catch (error) {
      // It may have been admitted just now. A waiter behind a large request may fit now.
      if (!this.#waiters.delete(waiter)) (await admitted).release()
      this.#admitNext()
      throw error
    }
  }

  /** Undefined where there is none now, or others of the sink wait for it. */
  reserveIfRoom(bytes: number, sink?: string): Reservation | undefined {
    return this.#hasRoom(bytes, sink) ? this.#hold({ bytes, holders: new Set() }, sink) : undefined
  }

  #hasRoom(bytes: number, sink: string | undefined): boolean {
    return this.#fits(bytes, sink) && !this.#waiters.values().some((waiter) => waiter.sink === sink)
  }

  #fits(bytes: number, sink: string | undefined): boolean {
    const holdsNone = (this.#shares.get(sink)?.pages ?? 0) === 0
    return holdsNone || (this.#isInShare(bytes, sink) && this.heldBytes + bytes <= this.#maxBytes)
  }

  /** A quarter of the budget stays free for the last sink even when all others hang. */
  #isInShare(bytes: number, sink: string | undefined): boolean {
    const own = this.#shares.get(sink)
    const others = this.#shares.size - 2
    const limit = others < 1 ? this.#maxBytes : (this.#maxBytes * 3) / 4 / others
    return own === undefined || own.pages === 0 || own.bytes + bytes <= limit
  }

  #admitNext(): void {
    const waiting = new Set<string | undefined>()
    for (const waiter of this.#waiters) {
      const { sink } = waiter
      if (waiting.has(sink)) continue
      const bytes = waiter.estimate()
      if (this.#fits(bytes, sink)) {
        this.#waiters.delete(waiter)
        waiter.admit(this.#hold({ bytes, holders: new Set() }, sink))
      } else waiting.add(sink)
    }
  }

  #hold(page: HeldPage, sink: string | undefined): Reservation {
    const share = this.#shares.get(sink) ?? { pages: 0, bytes: 0 }
    const holder = { share }
    this.#shares.set(sink, share)
    if (page.holders.size === 0) this.heldBytes += page.bytes
    page.holders.add(holder)
    share.pages++
    share.bytes += page.bytes
    return {
      resize: (bytes) => {
        const more = bytes - page.bytes
        page.bytes = bytes
        if (page.holders.size > 0) this.heldBytes += more
        for (const each of page.holders) each.share.bytes += more
        this.#admitNext()
      },
      release: () => {
        if (!page.holders.delete(holder)) return
        share.pages--
        share.bytes -= page.bytes
        if (page.holders.size === 0) this.heldBytes -= page.bytes
        this.#admitNext()
      },
      join: (other) => {
        const isHeld = page.holders.size > 0
        const mayJoin = isHeld ? this.#isInShare(page.bytes, other) : this.#hasRoom(page.bytes, other)
        return mayJoin ? this.#hold(page, other) : undefined
      },
      exchange: (own, other) => {
        const joined = this.#hold(page, other)
        own.release()
        return joined
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

/** Memory of a body of that many bytes once its entries are events. */
export function memoryOf(bytes: number): number {
  return bytes * heldPerByte
}

/** The sizes of the latest pages of an account. */
export function createPageSizes(maxPageBytes: number) {
  const sizes: number[] = []
  return {
    /** Estimate for the next page: the page limit at first, then the largest of the last pages plus a margin. */
    next(): number {
      if (sizes.length === 0) return memoryOf(maxPageBytes)
      return memoryOf(Math.min(maxPageBytes, Math.max(leastBytes, ...sizes) * margin))
    },
    saw(bytes: number): void {
      sizes.push(bytes)
      if (sizes.length > remembered) sizes.shift()
    },
  }
}
