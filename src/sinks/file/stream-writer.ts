import { Failure, cancelled } from '../../domain/failure.ts'
import type { Delivery, CommittedPart, Refusal } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { makeFolders } from './directory.ts'
import { createEncoder } from './encode.ts'
import { fileFailure } from './file-failure.ts'
import { throwIfAborted } from './keyed-mutex.ts'
import { writeAll } from './copy.ts'
import { continuePart, createPart, cutBack, whyChanged, type OpenPart } from './open-part.ts'
import type { PartName, Place } from './part.ts'
import { isFull } from './settings.ts'
import type { Writer } from './writer.ts'

/** Appends the deliveries of one pump. Its callers see to it that one call runs at a time. */
export interface StreamWriter {
  append(events: readonly Event[], signal: AbortSignal): Promise<Delivery>
  /** Takes the stream away: another pump has it. What runs takes back what it wrote. */
  revoke(): void
  close(): Promise<void>
}

/** What a stream's folder offers to its next writer. */
export interface Continuation {
  /** The writer's own latest part, as long as its committed length. */
  readonly part?: { readonly parsed: PartName; readonly bytes: number; readonly lines: number }
  /** First part number that was never given. */
  readonly nextNumber: number
}

export function createStreamWriter(writer: Writer, place: Place, start: Continuation): StreamWriter {
  const encode = createEncoder(writer.format)
  let continued = start.part
  let { nextNumber } = start
  let current: OpenPart | undefined
  let revoked = false

  const folder = () => makeFolders(writer.root, place.folders, writer.settings.dirMode)

  const leave = async (part: OpenPart) => {
    current = undefined
    await part.handle.close().catch(() => undefined)
  }

  const replaced = async (part: OpenPart, why: string) => {
    await leave(part)
    writer.emit({ name: 'FileReplaced', sink: writer.settings.name, part: pathOf(place, part.parsed), why })
  }

  /** The part for the next delivery. Only here, where its length is its committed length, one part follows another. */
  const nextPart = async (): Promise<OpenPart> => {
    if (current === undefined && continued !== undefined) {
      current = await continuePart(writer, await folder(), continued)
      continued = undefined
    }
    if (current !== undefined) {
      const { parsed, bytes } = current
      const why = await whyChanged(current, bytes)
      if (why !== undefined) await replaced(current, why)
      else if (isFull(writer.settings, { bytes, openedAtMs: parsed.openedAtMs }, writer.clock.now())) {
        writer.compressor.add({ place, parsed, bytes })
        await leave(current)
      }
    }
    if (current === undefined) {
      current = await createPart(writer, await folder(), nextNumber)
      nextNumber = current.parsed.number + 1
    }
    return current
  }

  const takeBack = async (part: OpenPart, isSyncFailure: boolean) => {
    const isCut = await cutBack(part)
    // After a failed sync nobody knows what the disk holds of the pages behind the cut.
    if (!isCut || isSyncFailure) await leave(part)
  }

  const append = async (events: readonly Event[], signal: AbortSignal): Promise<Delivery> => {
    const refusals: Refusal[] = []
    let part: OpenPart | undefined
    let bytes = 0
    let lines = 0
    let isSyncFailure = false
    const throwIfStopped = () => {
      if (revoked) throw cancelled()
      throwIfAborted(signal)
    }
    try {
      throwIfStopped()
      for (const chunk of encode(events, refusals)) {
        part ??= await nextPart()
        throwIfStopped()
        await writeAll(part.handle, chunk.bytes, part.path)
        bytes += chunk.bytes.length
        lines += chunk.lines
      }
      if (part === undefined) return { refusals, committed: [], bytes: 0 }
      // Side by side, and both waited for: nothing is outstanding when a failure cuts the part back.
      const [synced, looked] = await Promise.allSettled([
        part.handle.datasync(),
        whyChanged(part, part.bytes + bytes),
      ])
      isSyncFailure = synced.status === 'rejected'
      if (synced.status === 'rejected') throw synced.reason
      if (looked.status === 'rejected') throw looked.reason
      throwIfStopped()
      const why = looked.value
      if (why !== undefined) throw await failReplaced(part, why)
    } catch (error) {
      if (part !== undefined && part === current) await takeBack(part, isSyncFailure)
      throw await fileFailure(error, part?.path ?? `${writer.root}/${place.relative}`)
    }
    part.bytes += bytes
    part.lines += lines
    return { refusals, committed: [committedOf(part)], bytes }
  }

  const failReplaced = async (part: OpenPart, why: string): Promise<Failure> => {
    await cutBack(part)
    await replaced(part, why)
    return new Failure(
      'retry',
      'unwritable',
      `${part.path} was changed by somebody else while it was written: ${why}`,
    )
  }

  return {
    append,
    revoke() {
      revoked = true
    },
    async close() {
      revoked = true
      if (current !== undefined) await leave(current)
    },
  }
}

function pathOf(place: Place, part: PartName): string {
  return `${place.relative}/${part.name}`
}

function committedOf(part: OpenPart): CommittedPart {
  return { writer: part.parsed.writer, part: part.parsed.name, bytes: part.bytes, lines: part.lines }
}
