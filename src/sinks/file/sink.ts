import { resolve } from 'node:path'
import { cancelled } from '../../domain/failure.ts'
import { streamKey, type Stream } from '../../domain/stream.ts'
import type { OpenOptions, OpenStream, Sink } from '../../ports.ts'
import { compareParts } from './compare-parts.ts'
import { fileFailure } from './file-failure.ts'
import { createLanes, patiently, throwIfAborted } from './lane.ts'
import { placeOf } from './part.ts'
import { probe } from './probe.ts'
import type { FileSinkDeps, FileSinkSettings } from './settings.ts'
import { openWriter as openStreamWriter, type OpenWriter } from './open-writer.ts'
import { createWriters } from './writers.ts'

/** After an abort: for a delivery to take back what it wrote, and for the sink to close. Together well under 5 s. */
const takeBackMs = 1500
const closeMs = 1000

/** Each event once in files below one path, also across `kill -9`; see README.md for what that takes. */
export function createFileSink(settings: FileSinkSettings, deps: FileSinkDeps): Sink {
  const lanes = createLanes()
  const writers = createWriters(settings, deps, lanes)
  const open = new Map<string, OpenWriter>()
  let isClosed = false

  const openWriter = async (stream: Stream, taken: OpenOptions, signal: AbortSignal) => {
    throwIfAborted(signal)
    if (isClosed) throw cancelled()
    const place = placeOf(stream)
    const key = streamKey(stream)
    await open.get(key)?.close()
    open.delete(key)
    const writer = await writers.of(taken.storeId)
    const opened = await openStreamWriter(writer, place, taken, signal).catch(async (error: unknown) => {
      throw await fileFailure(error, `${writer.root}/${place.relative}`)
    })
    if (isClosed) throw cancelled()
    open.set(key, opened)
    return opened
  }

  /** Within the time of a take-back, even when the disk hangs: then the file is closed whenever it stops to. */
  const closeWriter = async (stream: Stream, streamWriter: OpenWriter) => {
    streamWriter.revoke()
    const closed = lanes.run(placeOf(stream).relative, async () => {
      await streamWriter.close()
      if (open.get(streamKey(stream)) === streamWriter) open.delete(streamKey(stream))
    })
    await patiently(closed, AbortSignal.abort(), deps.clock, closeMs).catch(() => undefined)
  }

  return {
    name: settings.name,
    address: resolve(settings.path),

    async open(stream, taken, signal): Promise<OpenStream> {
      if (isClosed) throw cancelled()
      // Whoever had the stream in this process has lost it; its outstanding write ends before the job below begins.
      open.get(streamKey(stream))?.revoke()
      const lane = placeOf(stream).relative
      const opening = lanes.run(lane, () => openWriter(stream, taken, signal))
      const opened = await patiently(opening, signal, deps.clock, takeBackMs)
      const { adopted } = opened
      const within = <Result>(job: () => Promise<Result>, signal: AbortSignal) =>
        patiently(lanes.run(lane, job), signal, deps.clock, takeBackMs)
      return {
        ...(adopted === undefined ? {} : { adopted }),
        deliver: (events, signal) => within(() => opened.append(events, signal), signal),
        close: () => closeWriter(stream, opened),
      }
    },

    async holdsMore(stream, known) {
      const differences = await compareParts(settings.path, stream, known)
      return differences.some(({ fault }) => fault === 'longer' || fault === 'unknown')
    },

    check: (signal) => patiently(probe(settings), signal, deps.clock, takeBackMs),

    async close() {
      isClosed = true
      for (const streamWriter of open.values()) streamWriter.revoke()
      const ended = (async () => {
        await writers.stop()
        await lanes.idle()
        // Of a writer that was made meanwhile.
        await writers.stop()
        for (const streamWriter of open.values()) await streamWriter.close()
        open.clear()
        await writers.release()
      })()
      // A write that still hangs keeps its identity: the lock must not be free before that write can no longer land.
      await patiently(ended, AbortSignal.abort(), deps.clock, closeMs).catch(() => undefined)
    },
  }
}
