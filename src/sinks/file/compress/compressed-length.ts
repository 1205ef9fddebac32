import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'

/**
 * Uncompressed length of a compressed part without decoding it: gzip stores it in its last four bytes (modulo 2^32),
 * zstd in its frame header (this sink always writes it). Undefined where the file does not have it.
 */
export async function compressedLength(path: string): Promise<number | undefined> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    return path.endsWith('.gz') ? await gzipLength(handle) : zstdLength(await readAt(handle, 0, 18))
  } finally {
    await handle.close()
  }
}

/** True when that length matches a part of so many bytes. */
export function isLengthOf(compressed: number | undefined, path: string, bytes: number): boolean {
  if (compressed === undefined) return false
  return path.endsWith('.gz') ? compressed === bytes % 2 ** 32 : compressed === bytes
}

async function gzipLength(handle: FileHandle): Promise<number | undefined> {
  const { size } = await handle.stat()
  if (size < 18) return undefined
  const head = await readAt(handle, 0, 2)
  if (head[0] !== 0x1f || head[1] !== 0x8b) return undefined
  return (await readAt(handle, size - 4, 4)).readUInt32LE(0)
}

/** RFC 8878, section 3.1.1. */
function zstdLength(head: Buffer): number | undefined {
  if (head.length < 18 || head.readUInt32LE(0) !== 0xfd2fb528) return undefined
  const descriptor = head[4]!
  const isSingleSegment = (descriptor & 0x20) !== 0
  const at = 5 + (isSingleSegment ? 0 : 1) + [0, 1, 2, 4][descriptor & 3]!
  switch (descriptor >> 6) {
    case 0:
      return isSingleSegment ? head[at]! : undefined
    case 1:
      return head.readUInt16LE(at) + 256
    case 2:
      return head.readUInt32LE(at)
    default:
      return at + 8 <= head.length ? Number(head.readBigUInt64LE(at)) : undefined
  }
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}
