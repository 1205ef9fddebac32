import { constants } from 'node:fs'
import { open, rename, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { addAbortSignal, pipeline } from 'node:stream'
import { createGzip, createZstdCompress } from 'node:zlib'
import { copyTo } from './copy.ts'
import { syncFolder } from './directory.ts'
import { readBytes } from './lines.ts'
import { unfinishedName, type PartOnDisk } from './listing.ts'
import type { FileSinkSettings } from './settings.ts'

const { O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = constants

/** A finished compression under its dot-name, not yet in the place of the plain part. */
export interface Compressed {
  readonly bytes: number
  /** Gives it its name, then removes the plain part. A crash in between leaves both; readers take the compressed one. */
  replace(): Promise<void>
  discard(): Promise<void>
}

/** Writes the compressed form, durably. To be called under the lock of the part's writer. */
export async function compressPart(
  settings: FileSinkSettings,
  path: string,
  bytes: number,
  signal: AbortSignal,
): Promise<Compressed> {
  const suffix = settings.compress === 'zstd' ? '.zst' : '.gz'
  const folder = dirname(path)
  const unfinished = join(folder, unfinishedName(basename(path), suffix))
  const discard = async () => {
    await unlink(unfinished).catch(() => undefined)
  }
  try {
    const to = await open(unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, settings.mode)
    try {
      await to.chmod(settings.mode)
      await copyTo(to, await encoded(settings, path, bytes, signal), unfinished, signal)
      await to.sync()
      const { size } = await to.stat()
      return {
        bytes: size,
        discard,
        async replace() {
          await rename(unfinished, `${path}${suffix}`)
          await syncFolder(folder)
          await unlink(path)
        },
      }
    } finally {
      await to.close()
    }
  } catch (error) {
    await discard()
    throw error
  }
}

/** With its length in the header (zstd) or trailer (gzip), by which it is told from another part's. */
async function encoded(
  settings: FileSinkSettings,
  path: string,
  bytes: number,
  signal: AbortSignal,
): Promise<AsyncIterable<Buffer>> {
  const encoder = settings.compress === 'zstd' ? createZstdCompress({ pledgedSrcSize: bytes }) : createGzip()
  const source = addAbortSignal(signal, await readBytes(path))
  pipeline(source, encoder, () => {
    // A source that breaks destroys the encoder, and the reader of that throws.
  })
  return encoder
}

/** True while the part stands there alone in its plain form, as long as it was when it was closed. */
export function isUntouched(part: PartOnDisk | undefined, bytes: number): boolean {
  return part?.plain !== undefined && part.compressed === undefined && part.plain.size === bytes
}
