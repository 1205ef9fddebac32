import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline, type Duplex, type Readable } from 'node:stream'
import { createGunzip, createZstdDecompress } from 'node:zlib'

const lineBreak = 0x0a
const pieceBytes = 262_144
/** Longer than any page, so longer than any event: bytes without a line break over this length hold no lines. */
const mostLineBytes = 67_108_864

/** Lines that end within one piece of a file. */
export interface LineBatch {
  readonly lines: readonly string[]
  /** Length of the uncompressed file up to and including the last of them. */
  readonly end: number
  /** Only in a last batch, which has no lines: the file ends within a line. */
  readonly isTorn?: true
}

/** Yields a part's whole lines between two offsets of its uncompressed bytes, in bounded pieces. */
export async function* readLines(path: string, from = 0, to = Infinity): AsyncGenerator<LineBatch> {
  let offset = isCompressed(path) ? 0 : from
  let end = from
  let begun: Buffer[] = []
  const pieces: AsyncIterable<Buffer> = await readBytes(path, from)
  for await (const piece of pieces) {
    const bytes = piece.subarray(Math.max(0, from - offset), Math.max(0, to - offset))
    offset += piece.length
    const last = bytes.lastIndexOf(lineBreak)
    if (last !== -1) {
      const whole = Buffer.concat([...begun, bytes.subarray(0, last)])
      begun = []
      end += whole.length + 1
      yield { lines: whole.toString('utf8').split('\n'), end }
    }
    if (last + 1 < bytes.length) begun.push(bytes.subarray(last + 1))
    if (offset >= to) break
    if (offset - end > mostLineBytes) throw new Error('it has a line of more than 64 MiB')
  }
  if (begun.length > 0) yield { lines: [], end, isTorn: true }
}

/** The uncompressed bytes; `from` applies to a plain part only. Follows no link and never blocks on a pipe. */
export async function readBytes(path: string, from = 0): Promise<Readable> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  const start = isCompressed(path) ? 0 : from
  const source = handle.createReadStream({ start, highWaterMark: pieceBytes })
  if (path.endsWith('.gz')) return decoded(source, createGunzip({ chunkSize: pieceBytes }))
  if (path.endsWith('.zst')) return decoded(source, createZstdDecompress({ chunkSize: pieceBytes }))
  return source
}

function isCompressed(path: string): boolean {
  return path.endsWith('.gz') || path.endsWith('.zst')
}

function decoded(source: Readable, decoder: Duplex): Readable {
  return pipeline(source, decoder, () => {
    // A source that fails destroys the decoder, so that its reader gets the error.
  })
}
