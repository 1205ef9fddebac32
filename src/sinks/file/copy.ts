import type { FileHandle } from 'node:fs/promises'
import { Failure } from '../../domain/failure.ts'
import { throwIfAborted } from './lane.ts'

/** Writes all of it, however little the system takes at a time. */
export async function writeAll(to: FileHandle, bytes: Buffer, path: string): Promise<void> {
  let offset = 0
  while (offset < bytes.length) {
    const { bytesWritten } = await to.write(bytes, offset, bytes.length - offset)
    if (bytesWritten === 0)
      throw new Failure('retry', 'unwritable', `${path} takes no more bytes and gives no reason`)
    offset += bytesWritten
  }
}

/**
 * Copies piece by piece. Not by a write stream over the handle: one that leaves it open for the sync afterwards keeps
 * its hold on it, and closing the handle then waits for ever.
 */
export async function copyTo(
  to: FileHandle,
  source: AsyncIterable<Buffer>,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  for await (const piece of source) {
    throwIfAborted(signal)
    await writeAll(to, piece, path)
  }
}
