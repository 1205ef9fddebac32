import { createHash, type Hash } from 'node:crypto'
import { open, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { constants as zlib, createGzip, createZstdCompress } from 'node:zlib'
import { syncFolder } from '../../disk.ts'
import type { CommittedPart } from '../../domain/event/delivery.ts'
import { isFailure } from '../../domain/failure.ts'
import type { InternalEvent } from '../../domain/internal-event.ts'
import type { SinkDeps } from '../deps.ts'
import type { FileSinkSettings } from './config.ts'
import { dropOldCopies } from './copies.ts'
import { copyTo, findFolder, type Jobs, makeFolders, makeRoot, ownFolder, throwIfAborted } from './files.ts'
import { holdIdentity, type Owners, ownersBelow, takeIdentity } from './identity.ts'
import { fullAt, lookAtPart, readBytes, suffixes } from './parts.ts'

export interface FileSinkDeps extends Pick<SinkDeps, 'format' | 'clock' | 'telemetry'> {
  /** Opens the parts for writing; tests replace it to simulate disks that fail or hang. */
  readonly openFile?: typeof open
}

/** A part that is queued at its committed length. */
interface ClosedPart extends CommittedPart {
  readonly place: string
  readonly dueAtMs: number
}

/** Grace for readers that follow a plain part to reach its end. */
const graceMs = 60_000
/** A process that runs for years forgets the days of which it has opened no stream for longest. */
const mostSettled = 20_000
const retryMs = 600_000

export type Writer = Awaited<ReturnType<typeof openWriter>>

/**
 * One store's writer on one path: created for the first stream that is opened, released when the sink closes. It has the
 * identity that names its parts, and compresses closed parts in the background, one at a time. That queue is lost at a
 * restart: streams add their parts again. `jobs` orders those on the files of a stream, by place.
 */
export async function openWriter(
  store: string,
  settings: FileSinkSettings,
  { openFile = open, ...deps }: FileSinkDeps,
  jobs: Jobs,
) {
  const { name: sink, path, mode, dirMode, compress } = settings
  const { clock, telemetry } = deps
  const { root } = await makeRoot(path, dirMode)
  await makeFolders(root, ownFolder, dirMode)
  await dropOldCopies(root, clock.now())
  const identity = await takeIdentity(root, { store, sink }, mode)
  const by = { compress, mode, openFile }
  const said = new Set<string>()
  /** By path. */
  const waiting = new Map<string, ClosedPart>()
  /** Up to which number the parts of a place are settled: found as they should be, and not changed any more. */
  const settled = new Map<string, number>()
  const closing = new AbortController()
  const { signal } = closing
  let loop: Promise<void> | undefined

  const emit = (internalEvent: InternalEvent) => telemetry.emit(internalEvent)

  /** Locks a writer's parts until disposed; undefined while another process holds that writer, or without its file. */
  async function hold(id: string): Promise<Disposable | undefined> {
    if (id === identity.id) return { [Symbol.dispose]: () => undefined }
    const owner = (await ownersBelow(root)).get(id)
    return owner && holdIdentity(root, owner)
  }

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
    settings,
    deps: { ...deps, openFile },
    root,
    identity,
    /** This one remains known even if its file was deleted. */
    async owners(): Promise<Owners> {
      return new Map([...(await ownersBelow(root)), [identity.id, identity]])
    },
    hold,
    emit,
    /** Reports a lasting condition, here of what `about` names, once in the life of the process. */
    emitOnce(about: string, internalEvent: InternalEvent): void {
      const condition = `${internalEvent.name} ${about}`
      if (!said.has(condition)) emit(internalEvent)
      said.add(condition)
    },
    settled,
    settle(place: string, to: number): void {
      settled.delete(place)
      if (to > 0) settled.set(place, to)
      if (settled.size > mostSettled) settled.delete(settled.keys().next().value!)
    },
    /** Queues a part until it is closed; a part with another length by then is left alone. */
    compress(place: string, part: CommittedPart): void {
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
      identity[Symbol.dispose]()
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
