import { createHash, type Hash } from 'node:crypto'
import { type open, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { constants as zlib, createGzip, createZstdCompress } from 'node:zlib'
import { isFailure } from '../../domain/failure.ts'
import type { InternalEvent } from '../../domain/internal-event.ts'
import type { Clock } from '../../ports/process.ts'
import type { FileSinkSettings } from './config.ts'
import { copyTo, findFolder, type KeyedMutex, ownFolder, syncFolder, throwIfAborted } from './files.ts'
import type { HeldIdentity } from './identity.ts'
import { fullAt, isFull, lookAtPart, type PartName, suffixes } from './parts.ts'
import { readBytes } from './read.ts'

/** A closed part and its committed length. */
interface ClosedPart {
  readonly place: string
  readonly parsed: PartName
  readonly bytes: number
}

interface CompressorDeps {
  readonly root: string
  readonly clock: Clock
  readonly openFile: typeof open
  /** The writer of this process: its temporary file has this name. */
  readonly writer: string
  /** Locks a part's writer; undefined while another process holds it. */
  hold(writer: string): HeldIdentity | undefined
  /** By place. */
  readonly mutex: KeyedMutex
  emit(internalEvent: InternalEvent): void
}

/** Grace for readers that follow a plain part to reach its end. */
const graceMs = 60_000
const retryMs = 600_000

/**
 * Compresses closed parts, one at a time, in the background. Its queue is lost at a restart: streams add their parts
 * again.
 */
export class Compressor {
  readonly #settings: FileSinkSettings
  readonly #deps: CompressorDeps
  /** By path. */
  readonly #waiting = new Map<string, ClosedPart & { readonly dueAtMs: number }>()
  readonly #closing = new AbortController()
  #loop: Promise<void> | undefined

  constructor(settings: FileSinkSettings, deps: CompressorDeps) {
    this.#settings = settings
    this.#deps = deps
  }

  /** Queues a part until it is closed; a part with another length by then is left alone. */
  add(part: ClosedPart): void {
    if (this.#settings.compress === 'none' || this.#closing.signal.aborted) return
    const { place, parsed, bytes } = part
    const path = join(this.#deps.root, place, parsed.name)
    if (this.#waiting.get(path)?.bytes === bytes) return
    const now = this.#deps.clock.now()
    const isClosed = isFull(this.#settings, { bytes, openedAtMs: parsed.openedAtMs }, now)
    const closedAtMs = isClosed ? now : fullAt(this.#settings, parsed.openedAtMs)
    this.#waiting.set(path, { ...part, dueAtMs: closedAtMs + graceMs })
    this.#loop ??= this.#run()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#loop
  }

  async #run(): Promise<void> {
    const { clock, emit } = this.#deps
    const { signal } = this.#closing
    const sink = this.#settings.name
    try {
      while (this.#waiting.size > 0) {
        const now = clock.now()
        for (const [path, part] of this.#waiting) {
          if (part.dueAtMs > now) continue
          this.#waiting.delete(path)
          await this.#compress(part, path, signal).catch((error: unknown) => {
            throwIfAborted(signal)
            this.#waiting.set(path, { ...part, dueAtMs: clock.now() + retryMs })
            emit({ name: 'CompressionFailed', sink, part: path, error })
          })
        }
        // A part that is added meanwhile is never due sooner than this.
        await clock.sleep(graceMs, signal)
      }
    } catch (error) {
      if (!isFailure(error, 'cancelled')) emit({ name: 'CompressionFailed', sink, error })
    } finally {
      this.#loop = undefined
    }
  }

  async #compress({ place, parsed, bytes }: ClosedPart, path: string, signal: AbortSignal): Promise<void> {
    const { root, writer, hold, mutex, emit } = this.#deps
    const { compress, name: sink } = this.#settings
    const suffix = suffixes[compress as keyof typeof suffixes]
    const folder = await findFolder(root, place)
    if (folder === undefined || bytes === 0) return
    const lock = hold(parsed.writer)
    if (lock === undefined) return
    const unfinished = unfinishedPath(root, writer, suffix)
    try {
      const modifiedMs = await modifiedOf(folder, parsed.name, bytes)
      if (modifiedMs === undefined) return
      const compressedBytes = await this.#write({ path, bytes, unfinished }, signal)
      await mutex.run(place, async () => {
        if (signal.aborted || (await modifiedOf(folder, parsed.name, bytes)) !== modifiedMs) return
        await rename(unfinished, path + suffix)
        await syncFolder(folder)
        // After a crash in between readers use the compressed file.
        await unlink(path)
        emit({ name: 'PartCompressed', sink, part: `${place}/${parsed.name}`, bytes, compressedBytes })
      })
    } finally {
      await unlink(unfinished).catch(() => undefined)
      lock.release()
    }
  }

  /**
   * Writes the compressed bytes, syncs the file and reads it back: the plain part may be removed only when the
   * compressed file decodes to the same bytes. Header (zstd) or trailer (gzip) names the uncompressed length.
   */
  async #write(
    { path, bytes, unfinished }: { path: string; bytes: number; unfinished: string },
    signal: AbortSignal,
  ): Promise<number> {
    const { compress, mode } = this.#settings
    const params = { [zlib.ZSTD_c_checksumFlag]: 1 }
    const encoder = compress === 'zstd' ? createZstdCompress({ pledgedSrcSize: bytes, params }) : createGzip()
    const [plain, readBack] = [createHash('sha256'), createHash('sha256')]
    // A source that fails destroys the encoder, so that its reader gets the error.
    const source = pipeline(hashed(readBytes(path), plain, signal), encoder, () => undefined)
    const copy = { path: unfinished, mode, openFile: this.#deps.openFile }
    // Where nothing was read of it, only this closes the part.
    const size = await copyTo(copy, source, signal).finally(() => encoder.destroy())
    let length = 0
    for await (const piece of hashed(readBytes(unfinished), readBack, signal)) length += piece.length
    if (length !== bytes || readBack.digest('hex') !== plain.digest('hex'))
      throw new Error('the compressed file does not decompress to the content of the part')
    return size
  }
}

/** Temporary file of a compression. One of a killed process is removed by the next one with its identity. */
export function unfinishedPath(root: string, writer: string, suffix: string): string {
  return join(root, ownFolder, `${writer}.unfinished${suffix}`)
}

/** When the plain part was changed last; undefined unless it has this length and no compressed form. */
async function modifiedOf(folder: string, name: string, bytes: number): Promise<number | undefined> {
  const part = await lookAtPart(folder, name)
  return part?.compressed === undefined && part?.plain?.size === bytes ? part.plain.mtimeMs : undefined
}

async function* hashed(
  source: AsyncIterable<Buffer>,
  hash: Hash,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  for await (const piece of source) {
    throwIfAborted(signal)
    hash.update(piece)
    yield piece
  }
}
