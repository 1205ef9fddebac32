import { createHash, type Hash } from 'node:crypto'
import { open, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { constants as zlib, createGzip, createZstdCompress } from 'node:zlib'
import { isFailure } from '../../domain/failure.ts'
import type { InternalEvent } from '../../domain/internal-event.ts'
import type { SinkDeps } from '../deps.ts'
import type { FileSinkSettings } from './config.ts'
import {
  copyTo,
  dropOldCopies,
  findFolder,
  type KeyedMutex,
  makeFolders,
  makeRoot,
  ownFolder,
  syncFolder,
  throwIfAborted,
} from './files.ts'
import { type HeldIdentity, holdIdentity, type Owner, ownerOf, takeIdentity } from './identity.ts'
import { fullAt, lookAtPart, suffixes, type WrittenPart } from './parts.ts'
import { readBytes } from './read.ts'

export interface FileSinkDeps extends Pick<SinkDeps, 'format' | 'clock' | 'telemetry'> {
  /** Opens the parts for writing; tests replace it to simulate disks that fail or hang. */
  readonly openFile?: typeof open
}

/** One store's writer on one path: created for the first stream that is opened, released when the sink closes. */
export interface Writer extends Pick<SinkDeps, 'format' | 'clock'> {
  readonly settings: FileSinkSettings
  readonly openFile: typeof open
  readonly root: string
  readonly own: Owner
  readonly identity: HeldIdentity
  /** Jobs on the files of a stream, by place. */
  readonly mutex: KeyedMutex
  /** Locks a writer's parts until released; undefined while another process holds that writer. */
  hold(id: string): HeldIdentity | undefined
  ownerOf(id: string): Owner | undefined
  emit(internalEvent: InternalEvent): void
  /** Reports a lasting condition once in the life of the process. */
  emitOnce(about: string, internalEvent: InternalEvent): void
  /** Compresses a part once it is closed. */
  compress(place: string, part: WrittenPart): void
  close(): Promise<void>
}

/** Limit of remembered conditions; beyond it a condition may be reported again. */
const maxSaid = 10_000

/** Takes an identity for the parts of a store. */
export async function createWriter(
  store: string,
  settings: FileSinkSettings,
  { format, clock, telemetry, openFile = open }: FileSinkDeps,
  mutex: KeyedMutex,
): Promise<Writer> {
  const { root } = await makeRoot(settings.path, settings.dirMode)
  const folder = await makeFolders(root, ownFolder, settings.dirMode)
  await dropOldCopies(root, clock.now())
  const own = { store, sink: settings.name }
  const identity = await takeIdentity(folder, own, settings.mode)
  // Owners never change. The entry of this writer remains valid even if its file was deleted.
  const owners = new Map([[identity.id, own]])
  const said = new Set<string>()
  const writer: Writer = {
    settings,
    format,
    clock,
    openFile,
    root,
    own,
    identity,
    mutex,
    hold: (id) => (id === identity.id ? { id, release: () => undefined } : holdIdentity(folder, id)),
    ownerOf(id) {
      const known = owners.get(id) ?? ownerOf(folder, id)
      if (known !== undefined) owners.set(id, known)
      return known
    },
    emit: (internalEvent) => telemetry.emit(internalEvent),
    emitOnce(about, internalEvent) {
      if (said.has(about)) return
      if (said.size >= maxSaid) said.clear()
      said.add(about)
      telemetry.emit(internalEvent)
    },
    compress: (place, part) => compressor.add(place, part),
    close: () => compressor.close(),
  }
  const compressor = new Compressor(writer)
  for (const suffix of Object.values(suffixes))
    await unlink(unfinishedPath(writer, suffix)).catch(() => undefined)
  return writer
}

/** A part that is queued at its committed length. */
interface ClosedPart extends WrittenPart {
  readonly place: string
  readonly dueAtMs: number
}

/** Grace for readers that follow a plain part to reach its end. */
const graceMs = 60_000
const retryMs = 600_000

/**
 * Compresses closed parts, one at a time, in the background. Its queue is lost at a restart: streams add their parts
 * again.
 */
class Compressor {
  readonly #writer: Writer
  /** By path. */
  readonly #waiting = new Map<string, ClosedPart>()
  readonly #closing = new AbortController()
  #loop: Promise<void> | undefined

  constructor(writer: Writer) {
    this.#writer = writer
  }

  /** Queues a part until it is closed; a part with another length by then is left alone. */
  add(place: string, part: WrittenPart): void {
    const { clock, root, settings } = this.#writer
    if (settings.compress === 'none' || this.#closing.signal.aborted) return
    const path = join(root, place, part.name)
    if (this.#waiting.get(path)?.bytes === part.bytes) return
    const closedAtMs = Math.max(clock.now(), fullAt(settings, part))
    this.#waiting.set(path, { ...part, place, dueAtMs: closedAtMs + graceMs })
    this.#loop ??= this.#run()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#loop
  }

  async #run(): Promise<void> {
    const { clock, emit, settings } = this.#writer
    const { signal } = this.#closing
    const sink = settings.name
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

  async #compress(part: ClosedPart, path: string, signal: AbortSignal): Promise<void> {
    const { name, place, bytes } = part
    const { root, settings, hold, mutex, emit } = this.#writer
    const suffix = suffixes[settings.compress as keyof typeof suffixes]
    const folder = await findFolder(root, place)
    if (folder === undefined || bytes === 0) return
    const lock = hold(part.writer)
    if (lock === undefined) return
    const unfinished = unfinishedPath(this.#writer, suffix)
    try {
      const modifiedMs = await modifiedOf(folder, part)
      if (modifiedMs === undefined) return
      const compressedBytes = await this.#write({ path, bytes, unfinished }, signal)
      await mutex.run(place, async () => {
        if (signal.aborted || (await modifiedOf(folder, part)) !== modifiedMs) return
        await rename(unfinished, path + suffix)
        await syncFolder(folder)
        // After a crash in between readers use the compressed file.
        await unlink(path)
        const about = { sink: settings.name, part: `${place}/${name}` }
        emit({ name: 'PartCompressed', ...about, bytes, compressedBytes })
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
    const { openFile, settings } = this.#writer
    const { compress, mode } = settings
    const params = { [zlib.ZSTD_c_checksumFlag]: 1 }
    const encoder = compress === 'zstd' ? createZstdCompress({ pledgedSrcSize: bytes, params }) : createGzip()
    const [plain, readBack] = [createHash('sha256'), createHash('sha256')]
    // A source that fails destroys the encoder, so that its reader gets the error.
    const source = pipeline(hashed(readBytes(path), plain, signal), encoder, () => undefined)
    const copy = { path: unfinished, mode, openFile }
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
function unfinishedPath({ root, identity }: Writer, suffix: string): string {
  return join(root, ownFolder, `${identity.id}.unfinished${suffix}`)
}

/** When the plain part was changed last; undefined unless it has this length and no compressed form. */
async function modifiedOf(folder: string, { name, bytes }: WrittenPart): Promise<number | undefined> {
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
