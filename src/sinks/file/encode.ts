import type { Refusal } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import type { Format } from '../../ports/format.ts'
import { mapEvent } from '../mapped.ts'

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
const lineBreak = 0x0a

/**
 * Puts each line in its place as bytes, in a buffer that is used again: joining the texts of a page at once (`joinTexts`)
 * takes a quarter more of the processor and another buffer each time. One call of an encoder must end before the next
 * begins, since they share the buffer.
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
      const mapped = mapEvent(event, format)
      if ('refusal' in mapped) {
        refusals.push(mapped.refusal)
        continue
      }
      makeRoom(used, mapped.line.length * mostBytesPerUnit + 1)
      used += room.write(mapped.line, used)
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
