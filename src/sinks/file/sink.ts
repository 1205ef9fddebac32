import { resolve } from 'node:path'
import { cancelled } from '../../domain/failure.ts'
import { streamKey, type Stream } from '../../domain/stream.ts'
import { orAborted } from '../../domain/within.ts'
import type { OpenStream, Reconciliation, TransactionalSink } from '../../ports/sink.ts'
import { compareParts } from './reconcile/compare-parts.ts'
import { fileFailure } from './file-failure.ts'
import { createKeyedMutex, throwIfAborted } from './keyed-mutex.ts'
import { placeOf } from './part.ts'
import { probe } from './probe.ts'
import { reconcile } from './reconcile/reconcile.ts'
import type { FileSinkDeps, FileSinkSettings } from './settings.ts'
import { StreamWriter } from './stream-writer.ts'
import { createWriters } from './writer.ts'

/** Time after an abort for a delivery to undo its write, and for the sink to close. Together well under 5 s. */
const takeBackMs = 1500
const closeMs = 1000

/** Writes each event exactly once in files below one path, also across `kill -9`; README.md explains how. */
export function createFileSink(settings: FileSinkSettings, deps: FileSinkDeps): TransactionalSink {
  const mutex = createKeyedMutex()
  const writers = createWriters(settings, deps, mutex)
  const open = new Map<string, StreamWriter>()
  let isClosed = false

  /**
   * Waits for file work, which cannot be cancelled: a write hangs as long as its disk does. Once the signal aborts, the
   * work gets `ms` to undo its write; then the caller gets `cancelled` and the work continues unobserved.
   */
  const withGrace = <Result>(work: Promise<Result>, signal: AbortSignal, ms = takeBackMs) =>
    orAborted(work, signal, { ms, clock: deps.clock })

  const reconcileStream = async (stream: Stream, known: Reconciliation, signal: AbortSignal) => {
    throwIfAborted(signal)
    if (isClosed) throw cancelled()
    const place = placeOf(stream)
    const key = streamKey(stream)
    await open.get(key)?.close()
    open.delete(key)
    const writer = await writers.of(known.storeId)
    const start = await reconcile({ writer, place, known, signal }).catch(async (error: unknown) => {
      throw await fileFailure(error, `${writer.root}/${place.relative}`)
    })
    if (isClosed) throw cancelled()
    const opened = new StreamWriter(writer, place, start)
    open.set(key, opened)
    return opened
  }

  /** Waits for a bounded time even when the disk hangs; the file is then closed when the write returns. */
  const closeWriter = async (stream: Stream, streamWriter: StreamWriter) => {
    streamWriter.revoke()
    const closed = mutex.run(placeOf(stream).relative, async () => {
      await streamWriter.close()
      if (open.get(streamKey(stream)) === streamWriter) open.delete(streamKey(stream))
    })
    await withGrace(closed, AbortSignal.abort(), closeMs).catch(() => undefined)
  }

  return {
    name: settings.name,
    address: resolve(settings.path),

    async reconcile(stream, known, signal): Promise<OpenStream> {
      if (isClosed) throw cancelled()
      // Another pump of this process may hold the stream: revoke it. Its write in progress ends before the job below
      // begins.
      open.get(streamKey(stream))?.revoke()
      const alone = <Result>(job: () => Promise<Result>, signal: AbortSignal) =>
        withGrace(mutex.run(placeOf(stream).relative, job), signal)
      const opened = await alone(() => reconcileStream(stream, known, signal), signal)
      return {
        deliver: (events, signal) => alone(() => opened.append(events, signal), signal),
        close: () => closeWriter(stream, opened),
      }
    },

    async hasUncommitted(stream, known) {
      const differences = await compareParts(settings.path, stream, known)
      return differences.some(({ problem }) => problem === 'longer' || problem === 'unknown')
    },

    check: (signal) => withGrace(probe(settings), signal),

    async close() {
      isClosed = true
      for (const streamWriter of open.values()) streamWriter.revoke()
      const ended = (async () => {
        await writers.stop()
        await mutex.idle()
        // Writers that were created meanwhile.
        await writers.stop()
        for (const streamWriter of open.values()) await streamWriter.close()
        open.clear()
        await writers.release()
      })()
      // A write that still hangs keeps its identity: the lock must not be free while that write can still reach the
      // disk.
      await withGrace(ended, AbortSignal.abort(), closeMs).catch(() => undefined)
    },
  }
}
