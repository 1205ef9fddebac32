import { promisify } from 'node:util'
import { constants, gzip, zstdCompress } from 'node:zlib'
import type { Refusal } from '../domain/event/delivery.ts'
import type { Event } from '../domain/event/event.ts'
import { messageOf } from '../domain/failure.ts'
import type { Format } from '../ports/delivery.ts'

/** The line of an event; undefined, and a refusal more, where the format cannot represent it. */
export function lineOf(event: Event, format: Format, refusals: Refusal[]): string | undefined {
  return encodedAs(event, format, refusals, () => {
    const line = format.encode(event)
    // Readers would read two invalid lines.
    if (line.includes('\n')) throw new Error('the line contains a line break')
    return line
  })
}

/** What `encode` makes of an event; undefined, and a refusal more, where it throws. */
export function encodedAs<Encoded>(
  event: Event,
  format: Format,
  refusals: Refusal[],
  encode: () => Encoded,
): Encoded | undefined {
  try {
    return encode()
  } catch (error) {
    const answer = `cannot be written in format ${format.name}: ${messageOf(error)}`.slice(0, 1024)
    return void refusals.push({ event, reason: 'unmappable', answer })
  }
}

export interface Text {
  readonly text: string
  /** Size of `text` in UTF-8 bytes. */
  readonly bytes: number
}

interface Framing {
  readonly before: string
  readonly between: string
  readonly after: string
}

/**
 * Joins texts as bytes, each written straight into the buffer: joining strings first would build a string of the whole
 * body and take half as long again.
 */
export function joinTexts(texts: readonly Text[], { before, between, after }: Framing): Buffer {
  let bytes = Buffer.byteLength(before) + Buffer.byteLength(after)
  bytes += Buffer.byteLength(between) * Math.max(0, texts.length - 1)
  for (const text of texts) bytes += text.bytes
  const joined = Buffer.allocUnsafe(bytes)
  let at = joined.write(before)
  for (const [index, { text, bytes }] of texts.entries()) {
    if (index > 0) at += joined.write(between, at)
    // As many bytes as characters means pure ASCII; latin1 writes that faster.
    at += joined.write(text, at, bytes === text.length ? 'latin1' : 'utf8')
  }
  at += joined.write(after, at)
  if (at !== bytes) throw new Error('a text is not as long as it says')
  return joined
}

const gzipped = promisify(gzip)
const zstded = promisify(zstdCompress)
/** Each chunk of output takes one turn of the thread pool; Node's 16 KiB would mean six for a body. */
const chunkSize = 65_536

/**
 * The lowest levels. A body of 0.93 MB of native lines: gzip 1 gives 95 kB in 3.4 ms, gzip 6 79 kB in 6.4 ms, zstd 1 83
 * kB in 1.5 ms, zstd 3 88 kB in 2.4 ms.
 */
export const compressors = {
  gzip: (bytes: Buffer) => gzipped(bytes, { level: 1, chunkSize }),
  zstd: (bytes: Buffer) => zstded(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 1 }, chunkSize }),
}

/** Whole lines, ready to write. */
interface Chunk {
  /** Valid until the next chunk is requested. */
  readonly bytes: Buffer
  readonly lines: number
}

/** Encodes lazily, chunk by chunk. Events that the format cannot represent go to `refusals`. */
type Encoder = (events: readonly Event[], refusals: Refusal[]) => Generator<Chunk>

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
      const line = lineOf(event, format, refusals)
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
