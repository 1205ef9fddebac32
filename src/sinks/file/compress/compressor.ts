import type { open } from 'node:fs/promises'
import { join } from 'node:path'
import { isFailure } from '../../../domain/failure.ts'
import type { Clock } from '../../../ports/clock.ts'
import { compressPart, isUntouched } from './compress-part.ts'
import { findFolder } from '../directory.ts'
import type { HeldIdentity } from '../identity.ts'
import type { KeyedMutex } from '../keyed-mutex.ts'
import { lookAtPart } from '../read/listing.ts'
import type { PartName, Place } from '../part.ts'
import { fullAt, isFull, type FileSinkSettings } from '../settings.ts'
import type { InternalEvent } from '../../../domain/internal-event.ts'

/** A part of a committed length. */
export interface ClosedPart {
  readonly place: Place
  readonly parsed: PartName
  readonly bytes: number
}

/** Compresses closed parts, one at a time, in the background. Forgets everything with its process: streams tell again. */
export interface Compressor {
  /** Remembers a part for the time when it is closed; what has another length by then is left alone. */
  add(part: ClosedPart): void
  /** Leaves a part alone from now on: it is about to be cut. */
  revoke(path: string): void
  isActive(path: string): boolean
  close(): Promise<void>
}

export interface CompressorDeps {
  readonly root: string
  readonly clock: Clock
  readonly openFile: typeof open
  /** The lock of a part's writer, undefined while that lives elsewhere. */
  hold(writer: string): HeldIdentity | undefined
  /** Runs a job while nobody else works on the files of a place, by its `relative`. */
  readonly alone: KeyedMutex['run']
  emit(internalEvent: InternalEvent): void
}

/** Readers that follow a plain part get this long to reach its end. */
const graceMs = 60_000
const retryMs = 600_000

interface Entry {
  readonly part: ClosedPart
  readonly path: string
  readonly dueAtMs: number
}

export function createCompressor(settings: FileSinkSettings, deps: CompressorDeps): Compressor {
  const entries = new Map<string, Entry>()
  const closing = new AbortController()
  let active: { readonly path: string; readonly stop: AbortController } | undefined
  let loop: Promise<void> | undefined

  const run = async () => {
    try {
      while (entries.size > 0 && !closing.signal.aborted) {
        const now = deps.clock.now()
        for (const entry of [...entries.values()].filter((entry) => entry.dueAtMs <= now))
          await compress(entry)
        // Nothing is ever added that is due sooner.
        await deps.clock.sleep(graceMs, closing.signal)
      }
    } catch (error) {
      if (!isFailure(error, 'cancelled')) deps.emit({ name: 'CompressionFailed', sink: settings.name, error })
    } finally {
      loop = undefined
    }
  }

  const compress = async (entry: Entry) => {
    if (closing.signal.aborted) return
    entries.delete(entry.path)
    const stop = new AbortController()
    active = { path: entry.path, stop }
    const signal = AbortSignal.any([closing.signal, stop.signal])
    let lock: HeldIdentity | undefined
    try {
      lock = deps.hold(entry.part.parsed.writer)
      if (lock !== undefined) await compressHeld(entry, signal)
    } catch (error) {
      if (signal.aborted) return
      entries.set(entry.path, { ...entry, dueAtMs: deps.clock.now() + retryMs })
      deps.emit({ name: 'CompressionFailed', sink: settings.name, part: entry.path, error })
    } finally {
      lock?.release()
      active = undefined
    }
  }

  const compressHeld = async ({ part, path }: Entry, signal: AbortSignal) => {
    const folder = await findFolder(deps.root, part.place.folders)
    if (folder === undefined || part.bytes === 0) return
    if (!isUntouched(await lookAtPart(folder, part.parsed.name), part.bytes)) return
    const compressed = await compressPart(
      settings,
      { path, bytes: part.bytes, openFile: deps.openFile },
      signal,
    )
    const isReplaced = await deps.alone(part.place.relative, async () => {
      const isSame = isUntouched(await lookAtPart(folder, part.parsed.name), part.bytes)
      if (isSame && !signal.aborted) await compressed.replace()
      else await compressed.discard()
      return isSame && !signal.aborted
    })
    if (!isReplaced) return
    const sizes = { bytes: part.bytes, compressedBytes: compressed.bytes }
    const about = `${part.place.relative}/${part.parsed.name}`
    deps.emit({ name: 'PartCompressed', sink: settings.name, part: about, ...sizes })
  }

  return {
    add(part) {
      if (settings.compress === 'none' || closing.signal.aborted) return
      const path = join(deps.root, ...part.place.folders, part.parsed.name)
      const known = entries.get(path)
      if (active?.path === path || known?.part.bytes === part.bytes) return
      const now = deps.clock.now()
      const isClosed = isFull(settings, { bytes: part.bytes, openedAtMs: part.parsed.openedAtMs }, now)
      const closedAtMs = isClosed ? now : fullAt(settings, part.parsed.openedAtMs)
      entries.set(path, { part, path, dueAtMs: closedAtMs + graceMs })
      loop ??= run()
    },
    revoke(path) {
      entries.delete(path)
      if (active?.path === path) active.stop.abort()
    },
    isActive: (path) => active?.path === path,
    async close() {
      closing.abort()
      await loop
    },
  }
}
