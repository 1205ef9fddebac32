import type { Refusal } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import type { Format } from '../../ports/delivery.ts'
import { mapEvent } from '../mapped.ts'

/** Whole lines, ready to write. */
export interface Chunk {
  /** Valid until the next chunk is requested. */
  readonly bytes: Buffer
  readonly lines: number
}

/** Encodes lazily, chunk by chunk. Events that the format cannot represent go to `refusals`. */
export type Encoder = (events: readonly Event[], refusals: Refusal[]) => Generator<Chunk>

/** Small compared with the memory of a page, but large enough that a page usually needs only two writes. */
const chunkBytes = 524_288
/** Buffer size kept between deliveries; a buffer that a long line made larger is dropped. */
const keptBytes = 2 * chunkBytes
const firstBytes = 65_536
const mostBytesPerUnit = 3
const lineBreak = 0x0a

/**
 * Encodes lines straight into one reused buffer: joining the texts of a page (`joinTexts`) takes a quarter more CPU
 * time and a new buffer for each page. The buffer is shared, so one run of an encoder must end before the next begins.
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
