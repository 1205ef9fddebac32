import { constants } from 'node:fs'
import { type FileHandle, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '../../disk.ts'
import type { CommittedPart, Delivery, Refusal } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { cancelled, Failure } from '../../domain/failure.ts'
import { systemErrorText } from '../../domain/text/system-error.ts'
import { createEncoder, lineOf } from '../lines.ts'
import {
  cutAndClose,
  fileFailure,
  headBytes,
  lookAt,
  makeFolders,
  throwIfAborted,
  writeAll,
} from './files.ts'
import { fullAt, partName } from './parts.ts'
import type { Continuation } from './reconcile.ts'
import type { Writer } from './writer.ts'

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants

export type StreamWriter = ReturnType<typeof createStreamWriter>

/** Appends the deliveries of one pump. Its callers run one call at a time. */
export function createStreamWriter(writer: Writer, place: string, start: Continuation) {
  const { deps, identity, root, settings } = writer
  const encode = createEncoder(deps.format)
  let { part: continued, nextNumber, heads } = start
  let current: OpenPart | undefined
  let isRevoked = false

  function throwIfStopped(signal: AbortSignal): void {
    if (isRevoked) throw cancelled()
    throwIfAborted(signal)
  }

  /** The part for the next delivery. Parts rotate only here, where the length is the committed length. */
  async function nextPart(): Promise<OpenPart> {
    if (continued !== undefined) current = await openPart(continued, O_NONBLOCK)
    continued = undefined
    if (current !== undefined) await leaveChangedOrFull(current)
    if (current === undefined) {
      const name = partName(nextNumber++, deps.clock.now(), identity.id)
      current = await openPart({ writer: identity.id, part: name, bytes: 0, lines: 0 }, O_CREAT | O_EXCL)
    }
    return current
  }

  async function leaveChangedOrFull(part: OpenPart): Promise<void> {
    const why = await whyChanged(part)
    if (why !== undefined) sayReplaced(part, why)
    else if (deps.clock.now() < fullAt(settings, part.committed)) return
    else writer.compress(place, part.committed)
    await leave(part)
  }

  async function leave(part: OpenPart): Promise<void> {
    current = undefined
    await part.handle.close().catch(() => undefined)
  }

  function sayReplaced({ committed }: OpenPart, why: string): void {
    writer.emit({ name: 'FileReplaced', sink: settings.name, part: `${place}/${committed.part}`, why })
  }

  /**
   * In the order of the listing, unless a part that was moved aside began so: an agent that knows files by their first
   * bytes would take the new part for that one, and read on behind lines that it has never seen.
   */
  function withNewHead(events: readonly Event[]): readonly Event[] {
    if (heads.length === 0) return events
    const first = events.findIndex((event) => {
      const line = lineOf(event, deps.format, [])
      if (line === undefined) return false
      const head = Buffer.from(`${line}\n`).toString('latin1', 0, headBytes)
      return !heads.some((known) => known.startsWith(head) || head.startsWith(known))
    })
    return first > 0 ? [...events.slice(first), ...events.slice(0, first)] : events
  }

  /** The name of a new part is synced. */
  async function openPart(committed: CommittedPart, flags: number): Promise<OpenPart> {
    const folder = await makeFolders(root, place, settings.dirMode)
    const path = join(folder, committed.part)
    const isNew = (flags & O_CREAT) !== 0
    const handle = await deps.openFile(path, O_RDWR | O_APPEND | O_NOFOLLOW | flags, settings.mode)
    try {
      if (isNew) {
        await handle.chmod(settings.mode)
        await syncFolder(folder)
      }
      const { dev: device, ino: inode } = await handle.stat()
      return { path, handle, device, inode, committed }
    } catch (error) {
      await handle.close().catch(() => undefined)
      if (isNew) await unlink(path).catch(() => undefined)
      throw error
    }
  }

  return {
    async append(events: readonly Event[], signal: AbortSignal): Promise<Delivery> {
      const refusals: Refusal[] = []
      let part: OpenPart | undefined
      let [bytes, lines, isSynced] = [0, 0, true]
      try {
        throwIfStopped(signal)
        for (const chunk of encode(withNewHead(events), refusals)) {
          part ??= await nextPart()
          throwIfStopped(signal)
          await writeAll(part.handle, chunk.bytes)
          bytes += chunk.bytes.length
          lines += chunk.lines
        }
        if (part === undefined) return { refusals, committed: [], bytes: 0 }
        // After a failed sync the state of the pages behind the cut is unknown.
        isSynced = false
        const [why] = await Promise.all([whyChanged(part, bytes), part.handle.datasync()])
        throwIfStopped(signal)
        if (why !== undefined) {
          sayReplaced(part, why)
          const text = `another program changed ${part.path} while shieldlog wrote it: ${why}`
          throw new Failure('retry', 'unwritable', text)
        }
      } catch (error) {
        if (part !== undefined && !((await tookBack(part)) && isSynced)) await leave(part)
        throw await fileFailure(error, part?.path ?? `${root}/${place}`)
      }
      const before = part.committed
      part.committed = { ...before, bytes: before.bytes + bytes, lines: before.lines + lines }
      heads = []
      return { refusals, committed: [part.committed], bytes }
    },
    /** Revokes the stream, because another pump has it now. A delivery in progress undoes its write. */
    revoke(): void {
      isRevoked = true
    },
    async close(): Promise<void> {
      isRevoked = true
      if (current !== undefined) await leave(current)
    },
  }
}

/** A part open for deliveries, in append mode: a file that another process has cut never gets a hole. */
interface OpenPart {
  readonly path: string
  readonly handle: FileHandle
  readonly device: number
  readonly inode: number
  /** Another one after each delivery. */
  committed: CommittedPart
}

/**
 * Why the file under the part's name is no longer the expected one, with so many bytes after its committed length;
 * undefined when it is. Never rejects.
 */
async function whyChanged(part: OpenPart, added = 0): Promise<string | undefined> {
  const bytes = part.committed.bytes + added
  try {
    const found = await lookAt(part.path)
    if (found === undefined) return 'the file is gone'
    if (found.ino !== part.inode || found.dev !== part.device || !found.isFile())
      return 'another file has its name'
    if (found.nlink !== 1) return `the file has ${found.nlink} hard links`
    return found.size === bytes ? undefined : `the file has ${found.size} bytes instead of ${bytes}`
  } catch (error) {
    return systemErrorText(error)
  }
}

/** Cuts the part back to its committed length. Returns true where nothing had to be cut: it can be continued. */
async function tookBack({ handle, committed: { bytes } }: OpenPart): Promise<boolean> {
  try {
    const { size } = await handle.stat()
    if (size > bytes) await cutAndClose(handle, bytes)
    return size === bytes
  } catch {
    return false
  }
}
