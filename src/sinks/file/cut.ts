import { constants } from 'node:fs'
import { open, rename, unlink, type FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Failure } from '../../domain/failure.ts'
import { copyTo } from './copy.ts'
import { lookAt, makeFolders, ownFolder, syncFolder } from './directory.ts'
import { readBytes } from './lines.ts'
import type { PartOnDisk } from './listing.ts'
import type { Place } from './part.ts'
import type { Writer } from './settings.ts'

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants
const lineBreak = 0x0a
const pieceBytes = 65_536
const maxCopies = 1000

/** Shortens a file; one that is not longer stays as it is. */
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

/** Length up to and with the last line break. */
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

/** Moves a whole file out of its stream's folder. */
export async function keepFile(writer: Writer, place: Place, path: string, name: string): Promise<void> {
  const folder = await asideFolder(writer)
  await rename(path, await freeName(folder, place, name, 0))
  await syncFolder(folder)
  await syncFolder(dirname(path))
}

/** Copies what lies beyond a length, durably, before it is cut. */
export async function keepTail(
  writer: Writer,
  place: Place,
  part: PartOnDisk,
  from: number,
  signal: AbortSignal,
): Promise<void> {
  const folder = await asideFolder(writer)
  const unfinished = join(folder, `.${writer.identity.id}-${basename(part.path)}`)
  await unlink(unfinished).catch(() => undefined)
  const to = await open(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, writer.settings.mode)
  try {
    await to.chmod(writer.settings.mode)
    await copyTo(to, await readBytes(part.path, from), unfinished, signal)
    await to.sync()
  } finally {
    await to.close()
  }
  await rename(unfinished, await freeName(folder, place, part.name, from))
  await syncFolder(folder)
}

async function asideFolder(writer: Writer): Promise<string> {
  return await makeFolders(writer.root, [ownFolder, 'aside'], writer.settings.dirMode)
}

/** Nobody else keeps this part aside meanwhile: its writer's lock is held. */
async function freeName(folder: string, place: Place, name: string, from: number): Promise<string> {
  const path = join(folder, `${place.folders.join('.')}.${name}.from-${from}`)
  for (let copy = 1; copy <= maxCopies; copy++) {
    const free = copy === 1 ? path : `${path}.${copy}`
    if ((await lookAt(free)) === undefined) return free
  }
  throw new Failure('stop', 'unwritable', `${path} was kept aside ${maxCopies} times; clear ${folder}`)
}

async function withFile<T>(path: string, flags: number, use: (handle: FileHandle) => Promise<T>): Promise<T> {
  const handle = await open(path, flags | O_NOFOLLOW | O_NONBLOCK)
  try {
    return await use(handle)
  } finally {
    await handle.close()
  }
}
