import { createHash, type Hash } from 'node:crypto'
import { type open, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { constants as zlib, createGzip, createZstdCompress } from 'node:zlib'
import { syncFolder } from '../../disk.ts'
import type { CommittedPart } from '../../domain/event/delivery.ts'
import { isFailure } from '../../domain/failure.ts'
import type { InternalEvent } from '../../domain/internal-event.ts'
import type { Clock } from '../../ports/process.ts'
import type { FileSinkSettings } from './config.ts'
import { copyTo, findFolder, type Jobs, ownFolder, throwIfAborted } from './files.ts'
import { fullAt, lookAtPart, readBytes, suffixes } from './parts.ts'

/** A part that is queued at its committed length. */
interface ClosedPart extends CommittedPart {
  readonly place: string
  readonly dueAtMs: number
}

/** Grace for readers that follow a plain part to reach its end. */
const graceMs = 60_000
const retryMs = 600_000

interface CompressionDeps {
  readonly settings: FileSinkSettings
  readonly root: string
  readonly identity: { readonly id: string }
  /** Locks a writer's parts until disposed; undefined where that cannot be had now. */
  readonly hold: (writer: string) => Promise<Disposable | undefined>
  readonly emit: (internalEvent: InternalEvent) => void
  readonly clock: Clock
  readonly openFile: typeof open
  readonly jobs: Jobs
}

/**
 * Compresses closed parts in the background, one at a time. Its queue is lost at a restart: streams add their parts
 * again.
 */
export function createCompression({
  settings,
  root,
  identity,
  hold,
  emit,
  clock,
  openFile,
  jobs,
}: CompressionDeps) {
  const { name: sink, mode, compress } = settings
  const by = { compress, mode, openFile }
  /** By path. */
  const waiting = new Map<string, ClosedPart>()
  const closing = new AbortController()
  const { signal } = closing
  let loop: Promise<void> | undefined

  async function compressWaiting(): Promise<void> {
    const failed = { name: 'CompressionFailed', sink } as const
    try {
      while (waiting.size > 0) {
        const now = clock.now()
        for (const [path, part] of waiting) {
          if (part.dueAtMs > now) continue
          waiting.delete(path)
          await compressPart(part, path).catch((error: unknown) => {
            throwIfAborted(signal)
            waiting.set(path, { ...part, dueAtMs: clock.now() + retryMs })
            emit({ ...failed, part: path, error })
          })
        }
        // A part that is added meanwhile is never due sooner than this.
        await clock.sleep(graceMs, signal)
      }
    } catch (error) {
      if (!isFailure(error, 'cancelled')) emit({ ...failed, error })
    } finally {
      loop = undefined
    }
  }

  async function compressPart(part: ClosedPart, path: string): Promise<void> {
    const { place, bytes, writer } = part
    const suffix = suffixes[compress as keyof typeof suffixes]
    const folder = await findFolder(root, place)
    if (folder === undefined || bytes === 0) return
    using lock = await hold(writer)
    if (lock === undefined) return
    // One of a killed process is overwritten by the next one with its identity.
    const unfinished = join(root, ownFolder, `${identity.id}.unfinished${suffix}`)
    try {
      const modifiedMs = await modifiedOf(folder, part)
      if (modifiedMs === undefined) return
      const compressedBytes = await writeCompressed(by, path, bytes, unfinished, signal)
      await jobs.run(place, async () => {
        if (signal.aborted || (await modifiedOf(folder, part)) !== modifiedMs) return
        await rename(unfinished, path + suffix)
        await syncFolder(folder)
        // After a crash in between readers use the compressed file.
        await unlink(path)
        emit({ name: 'PartCompressed', sink, part: `${place}/${part.part}`, bytes, compressedBytes })
      })
    } finally {
      await unlink(unfinished).catch(() => undefined)
    }
  }

  return {
    /** Queues a part until it is closed; a part with another length by then is left alone. */
    add(place: string, part: CommittedPart): void {
      if (compress === 'none' || signal.aborted) return
      const path = join(root, place, part.part)
      if (waiting.get(path)?.bytes === part.bytes) return
      const closedAtMs = Math.max(clock.now(), fullAt(settings, part))
      waiting.set(path, { ...part, place, dueAtMs: closedAtMs + graceMs })
      loop ??= compressWaiting()
    },
    async close(): Promise<void> {
      closing.abort()
      await loop
    },
  }
}

/** When the plain part was changed last; undefined unless it has this length and no compressed form. */
async function modifiedOf(folder: string, { part, bytes }: CommittedPart): Promise<number | undefined> {
  const found = await lookAtPart(folder, part)
  return found?.compressed === undefined && found?.plain?.size === bytes ? found.plain.mtimeMs : undefined
}

/**
 * Writes the compressed bytes, syncs the file and reads it back: the plain part may be removed only when the
 * compressed file decodes to the same bytes. Header (zstd) or trailer (gzip) names the uncompressed length.
 */
async function writeCompressed(
  { compress, mode, openFile }: Pick<FileSinkSettings, 'compress' | 'mode'> & { openFile: typeof open },
  path: string,
  bytes: number,
  unfinished: string,
  signal: AbortSignal,
): Promise<number> {
  const params = { [zlib.ZSTD_c_checksumFlag]: 1 }
  const encoder = compress === 'zstd' ? createZstdCompress({ pledgedSrcSize: bytes, params }) : createGzip()
  const [plain, readBack] = [createHash('sha256'), createHash('sha256')]
  // A source that fails destroys the encoder, so that its reader gets the error.
  const source = pipeline(hashed(readBytes(path), plain, signal), encoder, () => undefined)
  // Where nothing was read of it, only this closes the part.
  const size = await copyTo(unfinished, { mode, openFile }, source, signal).finally(() => encoder.destroy())
  let length = 0
  for await (const piece of hashed(readBytes(unfinished), readBack, signal)) length += piece.length
  if (length !== bytes || readBack.digest('hex') !== plain.digest('hex'))
    throw new Error('the compressed file does not decompress to the content of the part')
  return size
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
