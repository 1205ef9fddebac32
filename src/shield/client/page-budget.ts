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

export type PageBudget = ReturnType<typeof createPageBudget>

export function createPageBudget(maxBytes: number) {
  const waiters = new Set<Waiter>()
  const held = new Set<HeldPage>()
  /** Every sink that ever held a page, also one that only joins. */
  const sinks = new Set<string>()
  let isAdmitting = false

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
  async function reserve(
    estimate: () => number,
    signal: AbortSignal,
    sink?: string,
    ifRoom = false,
  ): Promise<Reservation> {
    if (signal.aborted) throw cancelled(signal.reason)
    if (ifRoom) {
      const room = reserveIfRoom(estimate(), sink)
      if (room === undefined) throw noRoom()
      return room
    }
    const { promise: admitted, resolve: admit } = Promise.withResolvers<Reservation>()
    const waiter = { sink, estimate, admit }
    waiters.add(waiter)
    admitNext()
    try {
      return await orAborted(admitted, signal)
    } catch (error) {
      // It may have been admitted just now. A waiter behind a large request may fit now.
      if (!waiters.delete(waiter)) (await admitted).release()
      admitNext()
      throw error
    }
  }

  /** Undefined where there is none now, or others of the sink wait for it. */
  function reserveIfRoom(bytes: number, sink?: string): Reservation | undefined {
    const isWaitedFor = waiters.values().some((waiter) => waiter.sink === sink)
    return isWaitedFor || !fits(bytes, sink) ? undefined : hold(bytes, sink)
  }

  function fits(bytes: number, sink: string | undefined): boolean {
    if (heldFor(sink).length === 0) return true
    return isInShare(bytes, sink) && evict(keptPages(), () => sumOf([...held], 'bytes') + bytes <= maxBytes)
  }

  /** A quarter of the budget stays free for the last sink even when all others hang. */
  function isInShare(bytes: number, sink: string | undefined): boolean {
    const own = heldFor(sink)
    const share = sinks.size < 2 ? maxBytes : (maxBytes * 3) / 4 / (sinks.size - 1)
    return own.length === 0 || sumOf(own, 'bytes') + bytes <= share
  }

  function heldFor(wanted: string | undefined): HeldPage[] {
    return heldBy(({ sink, evict }) => evict === undefined && sink === wanted)
  }

  function keptPages(): HeldPage[] {
    return heldBy(({ evict }) => evict !== undefined)
  }

  function heldBy(of: (holder: Holder) => boolean): HeldPage[] {
    return [...held].filter(({ holders }) => holders.values().some(of))
  }

  /** Evicts kept pages, the oldest first, until that is enough. */
  function evict(kept: HeldPage[], isEnough: () => boolean): boolean {
    for (const { holders } of kept) {
      if (isEnough()) break
      for (const holder of holders) holder.evict?.()
    }
    return isEnough()
  }

  function admitNext(): void {
    // An eviction on the way calls it again.
    if (isAdmitting) return
    isAdmitting = true
    const waiting = new Set<string | undefined>()
    for (const waiter of waiters) {
      const { sink } = waiter
      if (waiting.has(sink)) continue
      const bytes = waiter.estimate()
      if (fits(bytes, sink)) {
        waiters.delete(waiter)
        waiter.admit(hold(bytes, sink))
      } else waiting.add(sink)
    }
    isAdmitting = false
  }

  function hold(bytes: number, sink: string | undefined): Reservation {
    const page = { bytes, holders: new Set<Holder>() }
    held.add(page)
    return reservationOf(page, { sink })
  }

  function reservationOf(page: HeldPage, holder: Holder): Reservation {
    if (holder.sink !== undefined) sinks.add(holder.sink)
    page.holders.add(holder)
    return {
      resize(bytes) {
        page.bytes = bytes
        admitNext()
      },
      release() {
        if (!page.holders.delete(holder)) return
        if (page.holders.size === 0) held.delete(page)
        admitNext()
      },
      join: (sink) => (isInShare(page.bytes, sink) ? reservationOf(page, { sink }) : undefined),
      exchange(own, sink) {
        const joined = reservationOf(page, { sink })
        own.release()
        return joined
      },
      keep(evicted) {
        const kept = reservationOf(page, { evict: evicted })
        const others = keptPages().filter((other) => other !== page)
        evict(others, () => sumOf(keptPages(), 'bytes') <= maxBytes / 2)
        return kept
      },
    }
  }

  return {
    get heldBytes() {
      return sumOf([...held], 'bytes')
    },
    reserve,
    reserveIfRoom,
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
