import type { open } from 'node:fs/promises'
import { join } from 'node:path'
import { isFailure } from '../../../domain/failure.ts'
import type { Clock } from '../../../ports/process.ts'
import { compressPart, isUntouched } from './compress-part.ts'
import { findFolder } from '../directory.ts'
import type { HeldIdentity } from '../identity.ts'
import type { KeyedMutex } from '../keyed-mutex.ts'
import { lookAtPart } from '../read/listing.ts'
import type { PartName, Place } from '../part.ts'
import { fullAt, isFull, type FileSinkSettings } from '../settings.ts'
import type { InternalEvent } from '../../../domain/internal-event.ts'

/** A closed part and its committed length. */
export interface ClosedPart {
  readonly place: Place
  readonly parsed: PartName
  readonly bytes: number
}

export interface CompressorDeps {
  readonly root: string
  readonly clock: Clock
  readonly openFile: typeof open
  /** Locks a part's writer; undefined while another process holds it. */
  hold(writer: string): HeldIdentity | undefined
  /** Runs a job with exclusive access to the files of a place (its `relative` is the key). */
  readonly alone: KeyedMutex['run']
  emit(internalEvent: InternalEvent): void
}

/** Grace for readers that follow a plain part to reach its end. */
const graceMs = 60_000
const retryMs = 600_000

interface WaitingPart {
  readonly part: ClosedPart
  readonly path: string
  readonly dueAtMs: number
}

/**
 * Compresses closed parts, one at a time, in the background. Its queue is lost at a restart: streams add their parts
 * again.
 */
export class Compressor {
  readonly #settings: FileSinkSettings
  readonly #deps: CompressorDeps
  readonly #waiting = new Map<string, WaitingPart>()
  readonly #closing = new AbortController()
  #active: { readonly path: string; readonly stop: AbortController } | undefined
  #loop: Promise<void> | undefined

  constructor(settings: FileSinkSettings, deps: CompressorDeps) {
    this.#settings = settings
    this.#deps = deps
  }

  /** Queues a part until it is closed; a part with another length by then is left alone. */
  add(part: ClosedPart): void {
    if (this.#settings.compress === 'none' || this.#closing.signal.aborted) return
    const path = join(this.#deps.root, ...part.place.folders, part.parsed.name)
    if (this.isActive(path) || this.#waiting.get(path)?.part.bytes === part.bytes) return
    const now = this.#deps.clock.now()
    const { openedAtMs } = part.parsed
    const isClosed = isFull(this.#settings, { bytes: part.bytes, openedAtMs }, now)
    const closedAtMs = isClosed ? now : fullAt(this.#settings, openedAtMs)
    this.#waiting.set(path, { part, path, dueAtMs: closedAtMs + graceMs })
    this.#loop ??= this.#run()
  }

  /** Stops compressing a part, queued or in progress, before it is cut. */
  revoke(path: string): void {
    this.#waiting.delete(path)
    if (this.#active?.path === path) this.#active.stop.abort()
  }

  isActive(path: string): boolean {
    return this.#active?.path === path
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#loop
  }

  async #run(): Promise<void> {
    const { clock, emit } = this.#deps
    const { signal } = this.#closing
    try {
      while (this.#waiting.size > 0 && !signal.aborted) {
        const now = clock.now()
        const due = [...this.#waiting.values()].filter(({ dueAtMs }) => dueAtMs <= now)
        for (const each of due) await this.#compress(each)
        // A part that is added meanwhile is never due sooner than this.
        await clock.sleep(graceMs, signal)
      }
    } catch (error) {
      if (!isFailure(error, 'cancelled'))
        emit({ name: 'CompressionFailed', sink: this.#settings.name, error })
    } finally {
      this.#loop = undefined
    }
  }

  async #compress(waiting: WaitingPart): Promise<void> {
    if (this.#closing.signal.aborted) return
    const { path, part } = waiting
    const { clock, emit, hold } = this.#deps
    this.#waiting.delete(path)
    const stop = new AbortController()
    this.#active = { path, stop }
    const signal = AbortSignal.any([this.#closing.signal, stop.signal])
    let lock: HeldIdentity | undefined
    try {
      lock = hold(part.parsed.writer)
      if (lock !== undefined) await this.#compressHeld(waiting, signal)
    } catch (error) {
      if (signal.aborted) return
      this.#waiting.set(path, { ...waiting, dueAtMs: clock.now() + retryMs })
      emit({ name: 'CompressionFailed', sink: this.#settings.name, part: path, error })
    } finally {
      lock?.release()
      this.#active = undefined
    }
  }

  async #compressHeld({ part, path }: WaitingPart, signal: AbortSignal): Promise<void> {
    const { root, openFile, alone, emit } = this.#deps
    const folder = await findFolder(root, part.place.folders)
    if (folder === undefined || part.bytes === 0) return
    if (!isUntouched(await lookAtPart(folder, part.parsed.name), part.bytes)) return
    const compressed = await compressPart(this.#settings, { path, bytes: part.bytes, openFile }, signal)
    const isReplaced = await alone(part.place.relative, async () => {
      const isSame = isUntouched(await lookAtPart(folder, part.parsed.name), part.bytes)
      if (isSame && !signal.aborted) await compressed.replace()
      else await compressed.discard()
      return isSame && !signal.aborted
    })
    if (!isReplaced) return
    const sizes = { bytes: part.bytes, compressedBytes: compressed.bytes }
    const about = `${part.place.relative}/${part.parsed.name}`
    emit({ name: 'PartCompressed', sink: this.#settings.name, part: about, ...sizes })
  }
}
