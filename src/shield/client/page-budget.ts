import { cancelled, noRoom } from '../../domain/failure.ts'
import { orAborted } from '../../domain/promises.ts'
import { sumOf } from '../../domain/text/terminal-text.ts'

/** One holder's reservation of memory for a page, out of the budget of this process. */
export interface Reservation {
  /** Replaces the estimate by the real size. */
  resize(bytes: number): void
  /** Idempotent. The memory is free once every holder has released the page. */
  release(): void
  /** The reservation of another holder of the same page, for its sink; undefined where that sink's share has no room. */
  join(sink: string | undefined): Reservation | undefined
  /** The same in exchange for one of that sink for another page, whatever their sizes. */
  exchange(own: Reservation, sink: string | undefined): Reservation
  /** A holder for no sink. When memory is needed, or half of it is kept, `evict` is called, which must release it. */
  keep(evict: () => void): Reservation
}

interface Waiter {
  readonly sink: string | undefined
  readonly estimate: () => number
  readonly admit: (reservation: Reservation) => void
}

/** For one sink, or kept for any. */
interface Holder {
  readonly sink?: string | undefined
  readonly evict?: () => void
}

interface HeldPage {
  bytes: number
  readonly holders: Set<Holder>
}

/** A quarter of the budget stays free for the last sink even when all others hang. */
function shareOf(maxBytes: number, sinks: number): number {
  return sinks < 2 ? maxBytes : (maxBytes * 3) / 4 / (sinks - 1)
}

export class PageBudget {
  readonly #maxBytes: number
  readonly #waiters = new Set<Waiter>()
  readonly #held = new Set<HeldPage>()
  /** Every sink that ever held a page, also one that only joins. */
  readonly #sinks = new Set<string>()
  #isAdmitting = false

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get heldBytes(): number {
    return sumOf([...this.#held], 'bytes')
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
    const isWaitedFor = this.#waiters.values().some((waiter) => waiter.sink === sink)
    return isWaitedFor || !this.#fits(bytes, sink) ? undefined : this.#hold(bytes, sink)
  }

  #fits(bytes: number, sink: string | undefined): boolean {
    if (this.#heldFor(sink).length === 0) return true
    if (!this.#isInShare(bytes, sink)) return false
    return this.#evict(this.#kept(), () => this.heldBytes + bytes <= this.#maxBytes)
  }

  #heldFor(wanted: string | undefined): HeldPage[] {
    return this.#heldBy(({ sink, evict }) => evict === undefined && sink === wanted)
  }

  #isInShare(bytes: number, sink: string | undefined): boolean {
    const own = this.#heldFor(sink)
    return own.length === 0 || sumOf(own, 'bytes') + bytes <= shareOf(this.#maxBytes, this.#sinks.size)
  }

  #heldBy(of: (holder: Holder) => boolean): HeldPage[] {
    return [...this.#held].filter(({ holders }) => holders.values().some(of))
  }

  /** Evicts kept pages, the oldest first, until that is enough. */
  #evict(kept: HeldPage[], isEnough: () => boolean): boolean {
    for (const { holders } of kept) {
      if (isEnough()) break
      for (const { evict } of holders) evict?.()
    }
    return isEnough()
  }

  #kept(): HeldPage[] {
    return this.#heldBy(({ evict }) => evict !== undefined)
  }

  #admitNext(): void {
    // An eviction on the way calls it again.
    if (this.#isAdmitting) return
    this.#isAdmitting = true
    const waiting = new Set<string | undefined>()
    for (const waiter of this.#waiters) {
      const { sink } = waiter
      if (waiting.has(sink)) continue
      const bytes = waiter.estimate()
      if (this.#fits(bytes, sink)) {
        this.#waiters.delete(waiter)
        waiter.admit(this.#hold(bytes, sink))
      } else waiting.add(sink)
    }
    this.#isAdmitting = false
  }

  #hold(bytes: number, sink: string | undefined): Reservation {
    const page = { bytes, holders: new Set<Holder>() }
    this.#held.add(page)
    return this.#reservationOf(page, { sink })
  }

  #reservationOf(page: HeldPage, holder: Holder): Reservation {
    if (holder.sink !== undefined) this.#sinks.add(holder.sink)
    page.holders.add(holder)
    return {
      resize: (bytes) => {
        page.bytes = bytes
        this.#admitNext()
      },
      release: () => {
        if (!page.holders.delete(holder)) return
        if (page.holders.size === 0) this.#held.delete(page)
        this.#admitNext()
      },
      join: (sink) => (this.#isInShare(page.bytes, sink) ? this.#reservationOf(page, { sink }) : undefined),
      exchange: (own, sink) => {
        const joined = this.#reservationOf(page, { sink })
        own.release()
        return joined
      },
      keep: (evict) => {
        const kept = this.#reservationOf(page, { evict })
        const others = this.#kept().filter((other) => other !== page)
        this.#evict(others, () => sumOf(this.#kept(), 'bytes') <= this.#maxBytes / 2)
        return kept
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
