import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR } = constants
const lineBreak = 0x0a
const pieceBytes = 65_536

/** Truncates a file; a file that is not longer stays as it is. */
export async function cutFile(path: string, bytes: number): Promise<void> {
  await withFile(path, O_RDWR, async (handle) => {
    const { size } = await handle.stat()
    if (size > bytes) await handle.truncate(bytes)
  })
}

export async function syncFile(path: string): Promise<void> {
  await withFile(path, O_RDONLY, (handle) => handle.datasync())
}

/** True when the byte before this length ends a line. */
export async function endsLine(path: string, bytes: number): Promise<boolean> {
  return await withFile(path, O_RDONLY, async (handle) => {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(1), 0, 1, bytes - 1)
    return bytesRead === 1 && buffer[0] === lineBreak
  })
}

/** Length up to and including the last line break. */
export async function endOfWholeLines(path: string, bytes: number): Promise<number> {
  return await withFile(path, O_RDONLY, async (handle) => {
    const buffer = Buffer.alloc(pieceBytes)
    let end = bytes
    while (end > 0) {
      const length = Math.min(pieceBytes, end)
      const { bytesRead } = await handle.read(buffer, 0, length, end - length)
      const last = buffer.subarray(0, bytesRead).lastIndexOf(lineBreak)
      if (last !== -1) return end - length + last + 1
      end -= length
    }
    return 0
  })
}

async function withFile<T>(path: string, flags: number, use: (handle: FileHandle) => Promise<T>): Promise<T> {
  const handle = await open(path, flags | O_NOFOLLOW | O_NONBLOCK)
  try {
    return await use(handle)
  } finally {
    await handle.close()
  }
}
