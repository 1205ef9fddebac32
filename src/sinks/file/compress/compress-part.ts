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

/** A finished compression under its temporary name; the plain part still exists. */
export interface Compressed {
  readonly bytes: number
  /** Renames it, then removes the plain part. After a crash in between readers use the compressed one. */
  replace(): Promise<void>
  discard(): Promise<void>
}

/**
 * Compresses a part, syncs the file and reads it back: the plain part may be removed only when the compressed file
 * decodes to the same bytes. The caller must hold the lock of the part's writer.
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

/** The compressed bytes; header (zstd) or trailer (gzip) names the uncompressed length. */
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
    // A source that fails destroys the encoder, so that its reader gets the error.
  })
  return encoder
}

/** Throws unless the compressed file decodes to the expected length and hash. */
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
    throw new Error('the compressed file does not decompress to the content of the part')
}

/** True while only the plain form of the part exists, with the length it was closed at. */
export function isUntouched(part: PartOnDisk | undefined, bytes: number): boolean {
  return part?.plain !== undefined && part.compressed === undefined && part.plain.size === bytes
}
