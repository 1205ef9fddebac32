import { resolve } from 'node:path'
import { cancelled } from '../../domain/failure.ts'
import { orAborted } from '../../domain/promises.ts'
import { type Stream, streamKey } from '../../domain/stream.ts'
import type { OpenStream, Reconciliation, TransactionalSink } from '../../ports/delivery.ts'
import type { Clock } from '../../ports/process.ts'
import { StreamWriter } from './append.ts'
import { compareParts } from './compare-parts.ts'
import type { FileSinkSettings } from './config.ts'
import { createKeyedMutex, fileFailure, throwIfAborted } from './files.ts'
import { placeOf } from './parts.ts'
import { probe } from './probe.ts'
import { reconcile } from './reconcile.ts'
import type { FileSinkDeps } from './writer.ts'
import { createWriters, type Writers } from './writer.ts'

/** Time after an abort for a delivery to undo its write, and for the sink to close. Together well under 5 s. */
const takeBackMs = 1500
const closeMs = 1000

/** Writes each event exactly once in files below one path, also across `kill -9`; README.md explains how. */
export function createFileSink(settings: FileSinkSettings, deps: FileSinkDeps): TransactionalSink {
  const streams = new FileStreams(settings, deps)
  return {
    name: settings.name,
    address: resolve(settings.path),
    reconcile: (stream, known, signal) => streams.reconcile(stream, known, signal),
    async hasUncommitted(stream, known) {
      const differences = await compareParts(settings.path, stream, known)
      return differences.some(({ problem }) => problem === 'longer' || problem === 'unknown')
    },
    check: (signal) => withGrace(probe(settings), signal, deps.clock),
    close: () => streams.close(),
  }
}

/** The streams that this sink has open, each with one writer. */
class FileStreams {
  readonly #clock: Clock
  readonly #mutex = createKeyedMutex()
  readonly #writers: Writers
  readonly #open = new Map<string, StreamWriter>()
  #isClosed = false

  constructor(settings: FileSinkSettings, deps: FileSinkDeps) {
    this.#clock = deps.clock
    this.#writers = createWriters(settings, deps, this.#mutex)
  }

  async reconcile(stream: Stream, known: Reconciliation, signal: AbortSignal): Promise<OpenStream> {
    if (this.#isClosed) throw cancelled()
    // Another pump of this process may hold the stream: revoke it. Its write in progress ends before the job below
    // begins.
    this.#open.get(streamKey(stream))?.revoke()
    const alone = <Result>(job: () => Promise<Result>, signal: AbortSignal) =>
      withGrace(this.#mutex.run(placeOf(stream).relative, job), signal, this.#clock)
    const opened = await alone(() => this.#reconcileAlone(stream, known, signal), signal)
    return {
      deliver: (events, signal) => alone(() => opened.append(events, signal), signal),
      close: () => this.#closeWriter(stream, opened),
    }
  }

  async #reconcileAlone(stream: Stream, known: Reconciliation, signal: AbortSignal): Promise<StreamWriter> {
    throwIfAborted(signal)
    if (this.#isClosed) throw cancelled()
    const place = placeOf(stream)
    const key = streamKey(stream)
    await this.#open.get(key)?.close()
    this.#open.delete(key)
    const writer = await this.#writers.of(known.storeId)
    const start = await reconcile({ writer, place, known, signal }).catch(async (error: unknown) => {
      throw await fileFailure(error, `${writer.root}/${place.relative}`)
    })
    if (this.#isClosed) throw cancelled()
    const opened = new StreamWriter(writer, place, start)
    this.#open.set(key, opened)
    return opened
  }

  /** Waits for a bounded time even when the disk hangs; the file is then closed when the write returns. */
  async #closeWriter(stream: Stream, streamWriter: StreamWriter): Promise<void> {
    streamWriter.revoke()
    const closed = this.#mutex.run(placeOf(stream).relative, async () => {
      await streamWriter.close()
      if (this.#open.get(streamKey(stream)) === streamWriter) this.#open.delete(streamKey(stream))
    })
    await withGrace(closed, AbortSignal.abort(), this.#clock, closeMs).catch(() => undefined)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const streamWriter of this.#open.values()) streamWriter.revoke()
    // A write that still hangs keeps its identity: the lock must not be free while that write can still reach the
    // disk.
    await withGrace(this.#end(), AbortSignal.abort(), this.#clock, closeMs).catch(() => undefined)
  }

  async #end(): Promise<void> {
    await this.#writers.stop()
    await this.#mutex.idle()
    // Writers that were created meanwhile.
    await this.#writers.stop()
    for (const streamWriter of this.#open.values()) await streamWriter.close()
    this.#open.clear()
    await this.#writers.release()
  }
}

/**
 * Waits for file work, which cannot be cancelled: a write hangs as long as its disk does. Once the signal aborts, the
 * work gets `ms` to undo its write; then the caller gets `cancelled` and the work continues unobserved.
 */
function withGrace<Result>(
  work: Promise<Result>,
  signal: AbortSignal,
  clock: Clock,
  ms = takeBackMs,
): Promise<Result> {
  return orAborted(work, signal, { ms, clock })
}
