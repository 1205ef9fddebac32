import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline, type Duplex, type Readable } from 'node:stream'
import { createGunzip, createZstdDecompress } from 'node:zlib'

const lineBreak = 0x0a
const pieceBytes = 262_144

/** Lines that end within one piece of a file. */
export interface LineBatch {
  readonly lines: string[]
  /** Length of the uncompressed file up to and with the last of them. */
  readonly end: number
}

/** The whole lines of a part in any form, from an offset of its uncompressed bytes on. A torn last line is left out. */
export async function* readLines(path: string, from = 0): AsyncGenerator<LineBatch> {
  let skip = isCompressed(path) ? from : 0
  let end = from
  let begun: Buffer[] = []
  const pieces: AsyncIterable<Buffer> = await readBytes(path, from)
  for await (const piece of pieces) {
    const bytes = piece.subarray(skip)
    skip = Math.max(0, skip - piece.length)
    const last = bytes.lastIndexOf(lineBreak)
    if (last === -1) {
      if (bytes.length > 0) begun.push(bytes)
      continue
    }
    const whole = Buffer.concat([...begun, bytes.subarray(0, last)])
    begun = last + 1 < bytes.length ? [bytes.subarray(last + 1)] : []
    end += whole.length + 1
    yield { lines: whole.toString('utf8').split('\n'), end }
  }
}

/** Uncompressed bytes; `from` counts for a plain part only. Follows no link and waits for no pipe. */
export async function readBytes(path: string, from = 0): Promise<Readable> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  const start = isCompressed(path) ? 0 : from
  const source = handle.createReadStream({ start, highWaterMark: pieceBytes })
  if (path.endsWith('.gz')) return decoded(source, createGunzip())
  if (path.endsWith('.zst')) return decoded(source, createZstdDecompress())
  return source
}

function isCompressed(path: string): boolean {
  return path.endsWith('.gz') || path.endsWith('.zst')
}

function decoded(source: Readable, decoder: Duplex): Readable {
  return pipeline(source, decoder, () => {
    // A source that breaks destroys the decoder, and the reader of that throws.
  })
}
