import { constants } from 'node:fs'
import { type FileHandle, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Delivery, Refusal } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { cancelled, Failure } from '../../domain/failure.ts'
import { systemErrorText } from '../../domain/text/system-error.ts'
import { createEncoder, type Encoder } from '../lines.ts'
import { fileFailure, lookAt, makeFolders, syncFolder, throwIfAborted, writeAll } from './files.ts'
import { fullAt, partName, type WrittenPart } from './parts.ts'
import type { Continuation } from './reconcile.ts'
import type { Writer } from './writer.ts'

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants

/** Appends the deliveries of one pump. Its callers run one call at a time. */
export class StreamWriter {
  readonly #writer: Writer
  readonly #place: string
  readonly #encode: Encoder
  #continued: WrittenPart | undefined
  #nextNumber: number
  #current: OpenPart | undefined
  #isRevoked = false

  constructor(writer: Writer, place: string, { part, nextNumber }: Continuation) {
    this.#writer = writer
    this.#place = place
    this.#encode = createEncoder(writer.deps.format)
    this.#continued = part
    this.#nextNumber = nextNumber
  }

  async append(events: readonly Event[], signal: AbortSignal): Promise<Delivery> {
    const refusals: Refusal[] = []
    let part: OpenPart | undefined
    let [bytes, lines, isSpoilt] = [0, 0, false]
    try {
      this.#throwIfStopped(signal)
      for (const chunk of this.#encode(events, refusals)) {
        part ??= await this.#nextPart()
        this.#throwIfStopped(signal)
        await writeAll(part.handle, chunk.bytes)
        bytes += chunk.bytes.length
        lines += chunk.lines
      }
      if (part === undefined) return { refusals, committed: [], bytes: 0 }
      // After a failed sync the state of the pages behind the cut is unknown.
      isSpoilt = true
      const [why] = await Promise.all([whyChanged(part, part.bytes + bytes), part.handle.datasync()])
      this.#throwIfStopped(signal)
      if (why !== undefined) {
        this.#sayReplaced(part, why)
        const text = `another program changed ${part.path} while shieldlog wrote it: ${why}`
        throw new Failure('retry', 'unwritable', text)
      }
    } catch (error) {
      if (part !== undefined && (!(await cutBack(part)) || isSpoilt)) await this.#leave(part)
      throw await fileFailure(error, part?.path ?? `${this.#writer.root}/${this.#place}`)
    }
    part.bytes += bytes
    part.lines += lines
    const { name, writer } = part
    return { refusals, committed: [{ writer, part: name, bytes: part.bytes, lines: part.lines }], bytes }
  }

  /** Revokes the stream, because another pump has it now. A delivery in progress undoes its write. */
  revoke(): void {
    this.#isRevoked = true
  }

  async close(): Promise<void> {
    this.#isRevoked = true
    if (this.#current !== undefined) await this.#leave(this.#current)
  }

  #throwIfStopped(signal: AbortSignal): void {
    if (this.#isRevoked) throw cancelled()
    throwIfAborted(signal)
  }

  /** The part for the next delivery. Parts rotate only here, where the length is the committed length. */
  async #nextPart(): Promise<OpenPart> {
    const { deps, identity } = this.#writer
    if (this.#continued !== undefined) this.#current = await this.#open(this.#continued, O_NONBLOCK)
    this.#continued = undefined
    if (this.#current !== undefined) await this.#leaveChangedOrFull(this.#current)
    if (this.#current === undefined) {
      const name = partName(this.#nextNumber++, deps.clock.now(), identity.id)
      this.#current = await this.#open({ ...name, bytes: 0, lines: 0 }, O_CREAT | O_EXCL)
    }
    return this.#current
  }

  async #leaveChangedOrFull(part: OpenPart): Promise<void> {
    const { settings, deps } = this.#writer
    const why = await whyChanged(part, part.bytes)
    if (why !== undefined) this.#sayReplaced(part, why)
    else if (deps.clock.now() < fullAt(settings, part)) return
    else this.#writer.compress(this.#place, part)
    await this.#leave(part)
  }

  async #leave(part: OpenPart): Promise<void> {
    this.#current = undefined
    await part.handle.close().catch(() => undefined)
  }

  #sayReplaced({ name }: OpenPart, why: string): void {
    const { settings } = this.#writer
    this.#writer.emit({ name: 'FileReplaced', sink: settings.name, part: `${this.#place}/${name}`, why })
  }

  /** The name of a new part is synced. */
  async #open(part: WrittenPart, flags: number): Promise<OpenPart> {
    const { deps, root, settings } = this.#writer
    const folder = await makeFolders(root, this.#place, settings.dirMode)
    const path = join(folder, part.name)
    const isNew = (flags & O_CREAT) !== 0
    const handle = await deps.openFile(path, O_RDWR | O_APPEND | O_NOFOLLOW | flags, settings.mode)
    try {
      if (isNew) {
        await handle.chmod(settings.mode)
        await syncFolder(folder)
      }
      const { dev: device, ino: inode } = await handle.stat()
      return { ...part, path, handle, device, inode }
    } catch (error) {
      await handle.close().catch(() => undefined)
      if (isNew) await unlink(path).catch(() => undefined)
      throw error
    }
  }
}

/** A part open for deliveries, in append mode: a file that another process has cut never gets a hole. */
interface OpenPart extends WrittenPart {
  readonly path: string
  readonly handle: FileHandle
  readonly device: number
  readonly inode: number
  /** Committed length and lines. */
  bytes: number
  lines: number
}

/** Why the file under the part's name is no longer the expected one; undefined when it is. Never rejects. */
async function whyChanged(part: OpenPart, bytes: number): Promise<string | undefined> {
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

/** Truncates the part to its committed length. Returns false when that fails; a shorter file is never padded. */
async function cutBack(part: OpenPart): Promise<boolean> {
  try {
    const { size } = await part.handle.stat()
    if (size > part.bytes) await part.handle.truncate(part.bytes)
    return size >= part.bytes
  } catch {
    return false
  }
}
