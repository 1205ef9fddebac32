import { createHash, type Hash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, rename, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { addAbortSignal, pipeline } from 'node:stream'
import { constants as zlib, createGzip, createZstdCompress } from 'node:zlib'
import { isFailure } from '../../domain/failure.ts'
import type { InternalEvent } from '../../domain/internal-event.ts'
import type { Clock } from '../../ports/process.ts'
import type { FileSinkSettings } from './config.ts'
import { copyTo, findFolder, type KeyedMutex, syncFolder, throwIfAborted } from './files.ts'
import type { HeldIdentity } from './identity.ts'
import { lookAtPart, type PartName, type PartOnDisk, type Place, unfinishedName } from './parts.ts'
import { fullAt, isFull } from './parts.ts'
import { readBytes } from './read.ts'

/** A closed part and its committed length. */
interface ClosedPart {
  readonly place: Place
  readonly parsed: PartName
  readonly bytes: number
}

interface CompressorDeps {
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

/** A finished compression under its temporary name; the plain part still exists. */
export interface Compressed {
  readonly bytes: number
  /** Renames it, then removes the plain part. After a crash in between readers use the compressed one. */
  replace(): Promise<void>
  discard(): Promise<void>
}

/**
 * Compresses a part, syncs the file and reads it back: the plain part may be removed only when the compressed file
 * decodes to the same bytes. The caller must hold the lock of the part's writer.
 */
export async function compressPart(
  settings: FileSinkSettings,
  { path, bytes, openFile }: { path: string; bytes: number; openFile: typeof open },
  signal: AbortSignal,
): Promise<Compressed> {
  const suffix = settings.compress === 'zstd' ? '.zst' : '.gz'
  const folder = dirname(path)
  const unfinished = join(folder, unfinishedName(basename(path), suffix))
  const discard = async () => {
    await unlink(unfinished).catch(() => undefined)
  }
  try {
    const written = createHash('sha256')
    const source = await encoded(settings, { path, bytes, hash: written }, signal)
    const size = await copyTo({ path: unfinished, mode: settings.mode, openFile }, source, signal)
    await verify(unfinished, { bytes, hash: written.digest('hex') }, signal)
    return {
      bytes: size,
      discard,
      async replace() {
        await rename(unfinished, `${path}${suffix}`)
        await syncFolder(folder)
        await unlink(path)
      },
    }
  } catch (error) {
    await discard()
    throw error
  }
}

/** The compressed bytes; header (zstd) or trailer (gzip) names the uncompressed length. */
async function encoded(
  settings: FileSinkSettings,
  { path, bytes, hash }: { path: string; bytes: number; hash: Hash },
  signal: AbortSignal,
): Promise<AsyncIterable<Buffer>> {
  const params = { [zlib.ZSTD_c_checksumFlag]: 1 }
  const encoder =
    settings.compress === 'zstd' ? createZstdCompress({ pledgedSrcSize: bytes, params }) : createGzip()
  const source = addAbortSignal(signal, await readBytes(path))
  source.on('data', (piece: Buffer) => void hash.update(piece))
  pipeline(source, encoder, () => {
    // A source that fails destroys the encoder, so that its reader gets the error.
  })
  return encoder
}

/** Throws unless the compressed file decodes to the expected length and hash. */
async function verify(
  path: string,
  expected: { readonly bytes: number; readonly hash: string },
  signal: AbortSignal,
): Promise<void> {
  const hash = createHash('sha256')
  let bytes = 0
  const pieces: AsyncIterable<Buffer> = await readBytes(path)
  for await (const piece of pieces) {
    throwIfAborted(signal)
    hash.update(piece)
    bytes += piece.length
  }
  if (bytes !== expected.bytes || hash.digest('hex') !== expected.hash)
    throw new Error('the compressed file does not decompress to the content of the part')
}

/** True while only the plain form of the part exists, with the length it was closed at. */
function isUntouched(part: PartOnDisk | undefined, bytes: number): boolean {
  return part?.plain !== undefined && part.compressed === undefined && part.plain.size === bytes
}

/**
 * Uncompressed length of a compressed part without decoding it: gzip stores it in its last four bytes (modulo 2^32),
 * zstd in its frame header (this sink always writes it). Undefined where the file does not have it.
 */
export async function compressedLength(path: string): Promise<number | undefined> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    return path.endsWith('.gz') ? await gzipLength(handle) : zstdLength(await readAt(handle, 0, 18))
  } finally {
    await handle.close()
  }
}

/** True when that length matches a part of so many bytes. */
export function isLengthOf(compressed: number | undefined, path: string, bytes: number): boolean {
  if (compressed === undefined) return false
  return path.endsWith('.gz') ? compressed === bytes % 2 ** 32 : compressed === bytes
}

async function gzipLength(handle: FileHandle): Promise<number | undefined> {
  const { size } = await handle.stat()
  if (size < 18) return undefined
  const head = await readAt(handle, 0, 2)
  if (head[0] !== 0x1f || head[1] !== 0x8b) return undefined
  return (await readAt(handle, size - 4, 4)).readUInt32LE(0)
}

/** RFC 8878, section 3.1.1. */
function zstdLength(head: Buffer): number | undefined {
  if (head.length < 18 || head.readUInt32LE(0) !== 0xfd2fb528) return undefined
  const descriptor = head[4]!
  const isSingleSegment = (descriptor & 0x20) !== 0
  const at = 5 + (isSingleSegment ? 0 : 1) + [0, 1, 2, 4][descriptor & 3]!
  switch (descriptor >> 6) {
    case 0:
      return isSingleSegment ? head[at]! : undefined
    case 1:
      return head.readUInt16LE(at) + 256
    case 2:
      return head.readUInt32LE(at)
    default:
      return at + 8 <= head.length ? Number(head.readBigUInt64LE(at)) : undefined
  }
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}
