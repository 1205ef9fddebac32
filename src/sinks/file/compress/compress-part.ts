import { createHash, type Hash } from 'node:crypto'
import { rename, unlink, type open } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { addAbortSignal, pipeline } from 'node:stream'
import { constants as zlib, createGzip, createZstdCompress } from 'node:zlib'
import { copyTo } from '../copy.ts'
import { syncFolder } from '../directory.ts'
import { throwIfAborted } from '../keyed-mutex.ts'
import { readBytes } from '../read/lines.ts'
import { unfinishedName, type PartOnDisk } from '../read/listing.ts'
import type { FileSinkSettings } from '../settings.ts'

/** A finished compression under its dot-name, not yet in the place of the plain part. */
export interface Compressed {
  readonly bytes: number
  /** Gives it its name, then removes the plain part. A crash in between leaves both; readers take the compressed one. */
  replace(): Promise<void>
  discard(): Promise<void>
}

/**
 * Writes the compressed form, durably, and reads it back: the plain part may go only when what would replace it decodes
 * to the same bytes. To be called under the lock of the part's writer.
 */
export async function compressPart(
  settings: FileSinkSettings,
  { path, bytes, openFile }: { path: string; bytes: number; openFile: typeof open },
  signal: AbortSignal,
): Promise<Compressed> {
  const suffix = settings.compress === 'zstd' ? '.zst' : '.gz'
  const folder = dirname(path)
  const unfinished = join(folder, unfinishedName(basename(path), suffix))
  const discard = async () => {
    await unlink(unfinished).catch(() => undefined)
  }
  try {
    const written = createHash('sha256')
    const source = await encoded(settings, { path, bytes, hash: written }, signal)
    const size = await copyTo({ path: unfinished, mode: settings.mode, openFile }, source, signal)
    await verify(unfinished, { bytes, hash: written.digest('hex') }, signal)
    return {
      bytes: size,
      discard,
      async replace() {
        await rename(unfinished, `${path}${suffix}`)
        await syncFolder(folder)
        await unlink(path)
      },
    }
  } catch (error) {
    await discard()
    throw error
  }
}

/** With its length in the header (zstd) or trailer (gzip), by which it is told from another part's. */
async function encoded(
  settings: FileSinkSettings,
  { path, bytes, hash }: { path: string; bytes: number; hash: Hash },
  signal: AbortSignal,
): Promise<AsyncIterable<Buffer>> {
  const params = { [zlib.ZSTD_c_checksumFlag]: 1 }
  const encoder =
    settings.compress === 'zstd' ? createZstdCompress({ pledgedSrcSize: bytes, params }) : createGzip()
  const source = addAbortSignal(signal, await readBytes(path))
  source.on('data', (piece: Buffer) => void hash.update(piece))
  pipeline(source, encoder, () => {
    // A source that breaks destroys the encoder, and the reader of that throws.
  })
  return encoder
}

/** Throws unless the compressed file decodes to as many bytes with the same hash. */
async function verify(
  path: string,
  expected: { readonly bytes: number; readonly hash: string },
  signal: AbortSignal,
): Promise<void> {
  const hash = createHash('sha256')
  let bytes = 0
  const pieces: AsyncIterable<Buffer> = await readBytes(path)
  for await (const piece of pieces) {
    throwIfAborted(signal)
    hash.update(piece)
    bytes += piece.length
  }
  if (bytes !== expected.bytes || hash.digest('hex') !== expected.hash)
    throw new Error('what was compressed does not decode to what was written')
}

/** True while the part stands there alone in its plain form, as long as it was when it was closed. */
export function isUntouched(part: PartOnDisk | undefined, bytes: number): boolean {
  return part?.plain !== undefined && part.compressed === undefined && part.plain.size === bytes
}
