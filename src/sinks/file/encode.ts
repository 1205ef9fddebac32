import type { Refusal } from '../../domain/delivery.ts'
import type { Event } from '../../domain/event.ts'
import { messageOf } from '../../domain/failure.ts'
import type { Format } from '../../ports.ts'

/** Whole lines, ready to be written. */
export interface Chunk {
  /** Good until the next chunk is asked for. */
  readonly bytes: Buffer
  readonly lines: number
}

/** Encodes as it is asked for more. Events without a form in the format go to `refusals`. */
export type Encoder = (events: readonly Event[], refusals: Refusal[]) => Generator<Chunk>

/** Small enough to add little to a page's own memory, large enough for two writes a page as a rule. */
const chunkBytes = 524_288
/** Room is kept from one delivery to the next, unless a line made it this large. */
const keptBytes = 2 * chunkBytes
const firstBytes = 65_536
const mostBytesPerUnit = 3
const maxAnswerCharacters = 4096
const lineBreak = 0x0a

/**
 * Puts each line in its place as bytes: joining them as text first takes twenty times as long. One call of an encoder
 * must end before the next begins, since they share the room.
 */
export function createEncoder(format: Format): Encoder {
  let room = Buffer.allocUnsafeSlow(firstBytes)

  function makeRoom(used: number, needed: number): void {
    if (used + needed <= room.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(used + needed, 2 * room.length))
    room.copy(larger, 0, 0, used)
    room = larger
  }

  return function* encode(events, refusals) {
    if (room.length > keptBytes) room = Buffer.allocUnsafeSlow(firstBytes)
    let used = 0
    let lines = 0
    for (const event of events) {
      const line = encodeEvent(event, format, refusals)
      if (line === undefined) continue
      makeRoom(used, line.length * mostBytesPerUnit + 1)
      used += room.write(line, used)
      room[used++] = lineBreak
      lines++
      if (used < chunkBytes) continue
      yield { bytes: room.subarray(0, used), lines }
      used = 0
      lines = 0
    }
    if (lines > 0) yield { bytes: room.subarray(0, used), lines }
  }
}

function encodeEvent(event: Event, format: Format, refusals: Refusal[]): string | undefined {
  try {
    const line = format.encode(event)
    // It would count as two lines, neither of which anybody can read.
    if (line.includes('\n')) throw new Error(`format ${format.name} made a line with a line break in it`)
    return line
  } catch (error) {
    refusals.push({ event, reason: 'unmappable', answer: messageOf(error).slice(0, maxAnswerCharacters) })
    return undefined
  }
}
