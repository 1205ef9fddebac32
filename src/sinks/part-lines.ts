import { type Duplex, pipeline, type Readable } from 'node:stream'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import type { PartEnd, PartLines } from '../domain/audit-report.ts'
import { isFailure, messageOf } from '../domain/failure.ts'

const lineBreak = 0x0a
export const pieceBytes = 262_144
/** Longer than any page, so longer than any event: bytes without a line break over this length hold no lines. */
const mostLineBytes = 67_108_864

/**
 * Yields whole lines up to so many bytes in bounded pieces, and then how the part ended. Throws the Failures of the
 * pieces; any other error is damage of the part.
 */
export async function* linesIn(
  part: string,
  pieces: AsyncIterable<Buffer>,
  to = Infinity,
): AsyncGenerator<PartLines | Omit<PartEnd, 'isCompressed'>> {
  let [offset, wholeLines, wholeBytes] = [0, 0, 0]
  let begun: Buffer[] = []
  let damage: string | undefined
  try {
    for await (const piece of pieces) {
      const bytes = piece.subarray(0, Math.max(0, to - offset))
      offset += piece.length
      const last = bytes.lastIndexOf(lineBreak)
      if (last !== -1) {
        const whole = Buffer.concat([...begun, bytes.subarray(0, last)])
        const lines = whole.toString('utf8').split('\n')
        begun = []
        yield { part, from: wholeLines + 1, bytes: whole.length, lines }
        wholeLines += lines.length
        wholeBytes += whole.length + 1
      }
      if (last + 1 < bytes.length) begun.push(bytes.subarray(last + 1))
      if (offset >= to) break
      if (offset - wholeBytes > mostLineBytes) throw new Error('it has a line of more than 64 MiB')
    }
  } catch (error) {
    if (isFailure(error)) throw error
    damage = messageOf(error)
  }
  const isTorn = damage === undefined && begun.length > 0
  yield { part, wholeLines, wholeBytes, isTorn, ...(damage !== undefined && { damage }) }
}

export function isCompressed(name: string): boolean {
  return /\.(?:gz|zst)$/.test(name)
}

/** The uncompressed bytes. */
export function decoded(name: string, source: Readable): AsyncIterable<Buffer> {
  if (!isCompressed(name)) return source
  const decoder: Duplex = name.endsWith('.gz')
    ? createGunzip({ chunkSize: pieceBytes })
    : createZstdDecompress({ chunkSize: pieceBytes })
  // A source that fails destroys the decoder, so that its reader gets the error.
  return pipeline(source, decoder, () => undefined)
}
