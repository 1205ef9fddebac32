import { constants } from 'node:fs'
import { unlink, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { CommittedPart } from '../../domain/event/delivery.ts'
import { Failure } from '../../domain/failure.ts'
import { lookAt, syncFolder } from './directory.ts'
import { hasCode } from './file-failure.ts'
import { partName, type PartName } from './part.ts'
import type { Writer } from './writer.ts'

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants

/** A part open for deliveries, in append mode: a file that another process has cut never gets a hole. */
export interface OpenPart {
  readonly parsed: PartName
  readonly path: string
  readonly handle: FileHandle
  readonly device: number
  readonly inode: number
  /** Committed length and lines. */
  bytes: number
  lines: number
}

const maxTries = 100

export function committedOf({ parsed, bytes, lines }: OpenPart): CommittedPart {
  return { writer: parsed.writer, part: parsed.name, bytes, lines }
}

/** Creates the next part of a stream and syncs its name. `number` is the first that may be free. */
export async function createPart(writer: Writer, folder: string, number: number): Promise<OpenPart> {
  for (let tries = 0; tries < maxTries; tries++) {
    const parsed = partName(number + tries, writer.clock.now(), writer.identity.id)
    const path = join(folder, parsed.name)
    let handle: FileHandle
    try {
      const flags = O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW
      handle = await writer.openFile(path, flags, writer.settings.mode)
    } catch (error) {
      if (hasCode(error, 'EEXIST')) continue
      throw error
    }
    try {
      await handle.chmod(writer.settings.mode)
      await syncFolder(folder)
      const { dev: device, ino: inode } = await handle.stat()
      return { parsed, path, handle, device, inode, bytes: 0, lines: 0 }
    } catch (error) {
      await handle.close().catch(() => undefined)
      await unlink(path).catch(() => undefined)
      throw error
    }
  }
  throw new Failure('retry', 'unwritable', `no free part name in ${folder} from ${number} on`)
}

/** Opens an existing part to append. Undefined when the file no longer exists. */
export async function continuePart(
  writer: Writer,
  folder: string,
  part: { readonly parsed: PartName; readonly bytes: number; readonly lines: number },
): Promise<OpenPart | undefined> {
  const path = join(folder, part.parsed.name)
  try {
    const handle = await writer.openFile(path, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK)
    const { dev: device, ino: inode } = await handle.stat()
    return { ...part, path, handle, device, inode }
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ELOOP')) return undefined
    throw error
  }
}

/** Why the file under the part's name is no longer the expected one; undefined when it is. */
export async function whyChanged(part: OpenPart, bytes: number): Promise<string | undefined> {
  const found = await lookAt(part.path)
  if (found === undefined) return 'the file is gone'
  if (found.ino !== part.inode || found.dev !== part.device || !found.isFile())
    return 'another file has its name'
  if (found.nlink !== 1) return `the file has ${found.nlink} hard links`
  if (found.size !== bytes) return `the file has ${found.size} bytes instead of ${bytes}`
  return undefined
}

/** Truncates the part to its committed length. Returns false when that fails; a shorter file is never padded. */
export async function cutBack(part: OpenPart): Promise<boolean> {
  try {
    const { size } = await part.handle.stat()
    if (size > part.bytes) await part.handle.truncate(part.bytes)
    return size >= part.bytes
  } catch {
    return false
  }
}
