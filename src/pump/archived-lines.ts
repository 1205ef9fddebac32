import type { Event } from '../domain/event.ts'
import type { PartEnd } from './audited-sink.ts'

/** Lines of a part in order; one that no event can be made of is undefined. */
export interface ArchivedLines {
  readonly part: string
  /** Number of the first of them, from 1. */
  readonly from: number
  readonly events: readonly { readonly event: Event | undefined; readonly bytes: number }[]
}

export type ArchivedPiece = ArchivedLines | PartEnd

/** What could not be read of a day. */
export interface Unreadable {
  /** Lines that no event can be made of; a torn last line counts too. */
  lines: number
  /** The first of them and damaged parts, for people; at most a few. */
  readonly where: string[]
  damagedParts: number
}

const mostEvents = 1_000
const mostBytes = 4_194_304
const mostNamed = 5

/** The events of a day in pages; what cannot be read is written down and passed over. */
export async function* pagesOf(
  pieces: AsyncIterable<ArchivedPiece>,
  unreadable: Unreadable,
): AsyncGenerator<readonly Event[]> {
  let page: Event[] = []
  let pageBytes = 0
  for await (const piece of pieces) {
    if (!('events' in piece)) {
      noteEnd(piece, unreadable)
      continue
    }
    for (const [index, { event, bytes }] of piece.events.entries()) {
      if (event === undefined) {
        note(unreadable, `${piece.part}, line ${piece.from + index}`)
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

function noteEnd({ part, wholeLines, isTorn, damage }: PartEnd, unreadable: Unreadable): void {
  if (damage !== undefined) {
    unreadable.damagedParts++
    if (unreadable.where.length < mostNamed) unreadable.where.push(`${part}: ${damage}`)
  } else if (isTorn) note(unreadable, `${part}, line ${wholeLines + 1} (it has no end)`)
}

function note(unreadable: Unreadable, where: string): void {
  unreadable.lines++
  if (unreadable.where.length < mostNamed) unreadable.where.push(where)
}
