import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { Failure } from '../../domain/failure.ts'
import { throwIfAborted } from './keyed-mutex.ts'

const { O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = constants

/** Writes all bytes, also when the system takes only a part of them per call. */
export async function writeAll(to: FileHandle, bytes: Buffer, path: string): Promise<void> {
  let offset = 0
  while (offset < bytes.length) {
    const { bytesWritten } = await to.write(bytes, offset, bytes.length - offset)
    if (bytesWritten === 0)
      throw new Failure(
        'retry',
        'unwritable',
        `cannot write ${path}: the file system accepts no more bytes and reports no error`,
      )
    offset += bytesWritten
  }
}

export interface Copy {
  /** Path of the copy; an existing file is overwritten. */
  readonly path: string
  readonly mode: number
  readonly openFile?: typeof open
}

/**
 * Writes the source to a file piece by piece, syncs it, and returns its size. Does not use a write stream: with
 * `autoClose` off it keeps a reference to the handle, and closing the handle would then wait for ever.
 */
export async function copyTo(
  { path, mode, openFile = open }: Copy,
  source: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<number> {
  const to = await openFile(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode)
  try {
    await to.chmod(mode)
    for await (const piece of source) {
      throwIfAborted(signal)
      await writeAll(to, piece, path)
    }
    await to.sync()
    return (await to.stat()).size
  } finally {
    await to.close()
  }
}
