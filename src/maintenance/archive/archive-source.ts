import type { Event } from '../../domain/event/event.ts'
import { cancelled } from '../../domain/failure.ts'
import type { Cursor } from '../../domain/scan/page.ts'
import type { PartEnd } from '../../domain/audit-report.ts'
import type { Clock } from '../../ports/process.ts'
import type { Source } from '../../ports/delivery.ts'

/** Lines of a part in order; a line that no event can be made of is undefined. */
interface ArchivedLines {
  readonly part: string
  /** Number of the first of them, from 1. */
  readonly from: number
  readonly events: readonly { readonly event: Event | undefined; readonly bytes: number }[]
}

export type ArchivedPiece = ArchivedLines | PartEnd

/** What could not be read of a day. */
export class Unreadable {
  /** Lines that no event can be made of; a torn last line counts too. */
  lines = 0
  damagedParts = 0
  /** The first of them and the damaged parts, for people; at most five. */
  readonly where: string[] = []

  note(kind: 'lines' | 'damagedParts', where: string): void {
    this[kind]++
    if (this.where.length < mostNamed) this.where.push(where)
  }
}

const mostEvents = 1_000
const mostBytes = 4_194_304
const mostNamed = 5

/**
 * Reads a day's files of another sink page by page; the last page is empty. A cursor is a number of pages and valid for
 * this reading only. A page that is requested again is read again from the first line.
 */
export class ArchiveSource implements Source {
  readonly #read: () => AsyncIterable<ArchivedPiece>
  readonly #clock: Clock
  #pages: AsyncGenerator<readonly Event[], undefined> | undefined
  #number = 0
  /** Unreadable lines and parts so far. */
  unreadable = new Unreadable()
  /** Events read so far. */
  events = 0

  constructor(read: () => AsyncIterable<ArchivedPiece>, clock: Clock) {
    this.#read = read
    this.#clock = clock
  }

  async fetchPage({ cursor }: { readonly cursor: Cursor | null }, signal: AbortSignal) {
    const requestedAt = this.#clock.steady()
    const wanted = Number(cursor ?? 0)
    if (this.#pages === undefined || wanted !== this.#number) {
      await this.close()
      while (this.#number < wanted) await this.#advance(signal)
    }
    const events = await this.#advance(signal)
    return {
      events,
      more: events.length > 0,
      next: events.length > 0 ? (String(this.#number) as Cursor) : null,
      bytes: 0,
      requestedAt,
      release: () => undefined,
    }
  }

  async close(): Promise<void> {
    await this.#pages?.return(undefined)
    this.#pages = undefined
    this.#number = 0
  }

  async #advance(signal: AbortSignal): Promise<readonly Event[]> {
    if (signal.aborted) throw cancelled(signal.reason)
    if (this.#pages === undefined) {
      this.unreadable = new Unreadable()
      this.events = 0
      this.#pages = pagesOf(this.#read(), this.unreadable)
    }
    const { value: page = [] } = await this.#pages.next()
    this.events += page.length
    this.#number++
    return page
  }
}

/** The events of a day in pages; lines that cannot be read are recorded and skipped. */
export async function* pagesOf(
  pieces: AsyncIterable<ArchivedPiece>,
  unreadable: Unreadable,
): AsyncGenerator<readonly Event[], undefined> {
  let page: Event[] = []
  let pageBytes = 0
  for await (const piece of pieces) {
    if (!('events' in piece)) {
      const { part, wholeLines, isTorn, damage } = piece
      if (damage !== undefined) unreadable.note('damagedParts', `${part}: ${damage}`)
      else if (isTorn) unreadable.note('lines', `${part}, line ${wholeLines + 1} (it has no end)`)
      continue
    }
    for (const [index, { event, bytes }] of piece.events.entries()) {
      if (event === undefined) {
        unreadable.note('lines', `${piece.part}, line ${piece.from + index}`)
        continue
      }
      if (page.length === mostEvents || (page.length > 0 && pageBytes + bytes > mostBytes)) {
        yield page
        page = []
        pageBytes = 0
      }
      page.push(event)
      pageBytes += bytes
    }
  }
  if (page.length > 0) yield page
}
