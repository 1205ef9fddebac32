import type { PartEnd, PartLines } from '../domain/audit-report.ts'
import type { Event } from '../domain/event/event.ts'

/** A line that no event can be made of is undefined. */
export type ArchivedPiece = PartLines<Event | undefined> | PartEnd

/** A page is full when it has so many. */
const fullEvents = 1_000
const fullBytes = 4_194_304
const mostNamed = 5

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

/** The events of a day in pages of whole pieces; lines that cannot be read are recorded and skipped. */
export async function* pagesOf(
  pieces: AsyncIterable<ArchivedPiece>,
  unreadable: Unreadable,
): AsyncGenerator<readonly Event[], undefined> {
  let [page, bytes]: [Event[], number] = [[], 0]
  for await (const piece of pieces) {
    const { part } = piece
    if ('lines' in piece) {
      bytes += piece.bytes
      for (const [index, event] of piece.lines.entries())
        if (event === undefined) unreadable.note('lines', `${part}, line ${piece.from + index}`)
        else page.push(event)
    } else if (piece.damage !== undefined) unreadable.note('damagedParts', `${part}: ${piece.damage}`)
    else if (piece.isTorn) unreadable.note('lines', `${part}, line ${piece.wholeLines + 1} (it has no end)`)
    if (page.length < fullEvents && bytes < fullBytes) continue
    if (page.length > 0) yield page
    ;[page, bytes] = [[], 0]
  }
  if (page.length > 0) yield page
}
