import { Failure, cancelled } from '../../domain/failure.ts'
import type { Delivery, Refusal } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { makeFolders } from './directory.ts'
import { createEncoder, type Encoder } from './encode.ts'
import { fileFailure } from './file-failure.ts'
import { throwIfAborted } from './keyed-mutex.ts'
import { writeAll } from './copy.ts'
import { committedOf, continuePart, createPart, cutBack, whyChanged, type OpenPart } from './open-part.ts'
import type { PartName, Place } from './part.ts'
import { isFull } from './settings.ts'
import type { Writer } from './writer.ts'

/** What the next writer of a stream needs to continue. */
export interface Continuation {
  /** The writer's own latest part, at its committed length. */
  readonly part?: { readonly parsed: PartName; readonly bytes: number; readonly lines: number }
  /** First part number never used. */
  readonly nextNumber: number
}

/** Appends the deliveries of one pump. Its callers run one call at a time. */
export class StreamWriter {
  readonly #writer: Writer
  readonly #place: Place
  readonly #encode: Encoder
  #continued: Continuation['part']
  #nextNumber: number
  #current: OpenPart | undefined
  #isRevoked = false

  constructor(writer: Writer, place: Place, start: Continuation) {
    this.#writer = writer
    this.#place = place
    this.#encode = createEncoder(writer.format)
    this.#continued = start.part
    this.#nextNumber = start.nextNumber
  }

  async append(events: readonly Event[], signal: AbortSignal): Promise<Delivery> {
    const refusals: Refusal[] = []
    let part: OpenPart | undefined
    let bytes = 0
    let lines = 0
    let isSyncFailure = false
    try {
      this.#throwIfStopped(signal)
      for (const chunk of this.#encode(events, refusals)) {
        part ??= await this.#nextPart()
        this.#throwIfStopped(signal)
        await writeAll(part.handle, chunk.bytes, part.path)
        bytes += chunk.bytes.length
        lines += chunk.lines
      }
      if (part === undefined) return { refusals, committed: [], bytes: 0 }
      // In parallel, and both awaited: nothing is in progress when a failure cuts the part back.
      const [synced, looked] = await Promise.allSettled([
        part.handle.datasync(),
        whyChanged(part, part.bytes + bytes),
      ])
      isSyncFailure = synced.status === 'rejected'
      if (synced.status === 'rejected') throw synced.reason
      if (looked.status === 'rejected') throw looked.reason
      this.#throwIfStopped(signal)
      if (looked.value !== undefined) throw await this.#failReplaced(part, looked.value)
    } catch (error) {
      if (part !== undefined && part === this.#current) await this.#takeBack(part, isSyncFailure)
      throw await fileFailure(error, part?.path ?? `${this.#writer.root}/${this.#place.relative}`)
    }
    part.bytes += bytes
    part.lines += lines
    return { refusals, committed: [committedOf(part)], bytes }
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
    const writer = this.#writer
    if (this.#current === undefined && this.#continued !== undefined) {
      this.#current = await continuePart(writer, await this.#folder(), this.#continued)
      this.#continued = undefined
    }
    if (this.#current !== undefined) await this.#leaveChangedOrFull(this.#current)
    if (this.#current === undefined) {
      this.#current = await createPart(writer, await this.#folder(), this.#nextNumber)
      this.#nextNumber = this.#current.parsed.number + 1
    }
    return this.#current
  }

  async #leaveChangedOrFull(part: OpenPart): Promise<void> {
    const { settings, clock, compressor } = this.#writer
    const { parsed, bytes } = part
    const why = await whyChanged(part, bytes)
    if (why !== undefined) return this.#replaced(part, why)
    if (!isFull(settings, { bytes, openedAtMs: parsed.openedAtMs }, clock.now())) return
    compressor.add({ place: this.#place, parsed, bytes })
    await this.#leave(part)
  }

  #folder() {
    return makeFolders(this.#writer.root, this.#place.folders, this.#writer.settings.dirMode)
  }

  async #leave(part: OpenPart): Promise<void> {
    this.#current = undefined
    await part.handle.close().catch(() => undefined)
  }

  async #takeBack(part: OpenPart, isSyncFailure: boolean): Promise<void> {
    const isCut = await cutBack(part)
    // After a failed sync the state of the pages behind the cut is unknown.
    if (!isCut || isSyncFailure) await this.#leave(part)
  }

  async #failReplaced(part: OpenPart, why: string): Promise<Failure> {
    await cutBack(part)
    await this.#replaced(part, why)
    return new Failure(
      'retry',
      'unwritable',
      `another program changed ${part.path} while shieldlog wrote it: ${why}`,
    )
  }

  async #replaced(part: OpenPart, why: string): Promise<void> {
    await this.#leave(part)
    const { emit, settings } = this.#writer
    emit({ name: 'FileReplaced', sink: settings.name, part: pathOf(this.#place, part.parsed), why })
  }
}

function pathOf(place: Place, part: PartName): string {
  return `${place.relative}/${part.name}`
}
