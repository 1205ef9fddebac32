import { randomBytes } from 'node:crypto'
import { rmdir, statfs, unlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { cancelled } from '../../domain/failure.ts'
import { loadBytes } from '../../domain/policy.ts'
import { orAborted } from '../../domain/promises.ts'
import { sizeText } from '../../domain/text/terminal-text.ts'
import type { Reconciliation, Retention, SinkCheck, TransactionalSink } from '../../ports/delivery.ts'
import { createStreamWriter, type StreamWriter } from './append.ts'
import type { FileSinkSettings } from './config.ts'
import { lookAtParts } from './compare.ts'
import { copyTo, guarded, createJobs, makeRoot, throwIfAborted } from './files.ts'
import { placeOf } from './parts.ts'
import { reconcile } from './reconcile.ts'
import { removeDay, storedDays } from './stored-days.ts'
import { type FileSinkDeps, openWriter, type Writer } from './writer.ts'

/** Time after an abort for a delivery to undo its write, and for the sink to close. Together well under 5 s. */
const takeBackMs = 1500
const closeMs = 1000

/** Writes each event exactly once in files below one path, also across `kill -9`; README.md explains how. */
export function createFileSink(settings: FileSinkSettings, deps: FileSinkDeps): TransactionalSink {
  const { name, path } = settings
  const { clock } = deps
  const jobs = createJobs()
  /** By store: normally one, two when the store was replaced while the process runs. */
  const writers = new Map<string, Promise<Writer>>()
  /** By place. */
  const open = new Map<string, StreamWriter>()
  let isClosed = false

  /** File work cannot be cancelled: after an abort it gets a bounded time to undo its write, and continues unobserved. */
  const withGrace = <Result>(work: Promise<Result>, signal: AbortSignal, ms = takeBackMs) =>
    orAborted(work, signal, { ms, clock })
  const atMost = (work: Promise<void>) => withGrace(work, AbortSignal.abort(), closeMs).catch(() => undefined)

  async function writerOf(store: string): Promise<Writer> {
    const made = writers.get(store) ?? guarded(path, () => openWriter(store, settings, deps, jobs))
    writers.set(store, made)
    made.catch(() => writers.delete(store))
    return await made
  }

  async function openAlone(place: string, known: Reconciliation, signal: AbortSignal): Promise<StreamWriter> {
    throwIfAborted(signal)
    if (isClosed) throw cancelled()
    await open.get(place)?.close()
    open.delete(place)
    const writer = await writerOf(known.storeId)
    const start = await guarded(`${writer.root}/${place}`, () => reconcile(writer, place, known, signal))
    if (isClosed) throw cancelled()
    const opened = createStreamWriter(writer, place, start)
    open.set(place, opened)
    return opened
  }

  async function end(): Promise<void> {
    await jobs.idle()
    for (const opened of open.values()) await opened.close()
    for (const made of await Promise.allSettled(writers.values()))
      if (made.status === 'fulfilled') await made.value.close()
  }

  const { days, maxBytes } = settings.retention
  const retention: Retention = {
    limits: { days, maxBytes },
    stored: (own, signal) => withGrace(storedDays(path, own, maxBytes !== null), signal),
    remove(place, own, mark, signal) {
      // No part is compressed meanwhile.
      const removed = jobs.run(placeOf(place), () => removeDay(path, place, own, mark))
      return withGrace(removed, signal)
    },
  }

  return {
    name,
    address: resolve(path),
    ...((days !== null || maxBytes !== null) && { retention }),
    // A part is closed between two deliveries only: a small one holds no large load.
    load: { bytes: Math.min(loadBytes, settings.rotate.maxBytes) },
    async reconcile(stream, known, signal) {
      if (isClosed) throw cancelled()
      const place = placeOf(stream)
      // Another pump of this process may hold the stream: revoke it. Its write in progress ends before the job below
      // begins.
      open.get(place)?.revoke()
      const alone = <Result>(job: () => Promise<Result>, signal: AbortSignal) =>
        withGrace(jobs.run(place, job), signal)
      const opened = await alone(() => openAlone(place, known, signal), signal)
      return {
        deliver: (events, signal) => alone(() => opened.append(events, signal), signal),
        /** Waits for a bounded time even when the disk hangs; the file is then closed when the write returns. */
        async close() {
          opened.revoke()
          const closed = jobs.run(place, async () => {
            await opened.close()
            if (open.get(place) === opened) open.delete(place)
          })
          await atMost(closed)
        },
      }
    },
    async hasUncommitted(stream, known) {
      const { reports, clean } = await lookAtParts(path, stream, known)
      const place = placeOf(stream)
      const writer = await writers.get(known.storeId)?.catch(() => undefined)
      // The next pump looks at all parts, and tells what is wrong.
      if (reports.length > 0) writer?.settled.delete(place)
      // No later pump may open the stream, so none would have its last part compressed.
      for (const part of clean) writer?.compress(place, part)
      return reports.some(({ problem }) => problem === 'longer' || problem === 'unknown')
    },
    check: (signal) =>
      withGrace(
        guarded(path, () => probe(settings)),
        signal,
      ),
    async close() {
      isClosed = true
      for (const opened of open.values()) opened.revoke()
      // A write that still hangs keeps its identity: the lock must not be free while that write can still reach the
      // disk.
      await atMost(end())
    },
  }
}

/** As large as a page: a disk that does not hold it is full. */
const probeBytes = 1_048_576
/** Less than this is told: a part of the default size and its compressed copy take a third of it. */
const lowFreeBytes = 1e9

/** Writes a test file and removes it again, with all folders created for it. */
async function probe(settings: FileSinkSettings): Promise<SinkCheck> {
  const { root, made } = await makeRoot(settings.path, settings.dirMode)
  try {
    const file = join(root, `.shieldlog-check-${randomBytes(5).toString('hex')}`)
    try {
      await copyTo(file, settings, [Buffer.alloc(probeBytes, 0x0a)])
    } finally {
      await unlink(file).catch(() => undefined)
    }
    const { bavail, blocks, bsize } = await statfs(root)
    // Some file systems report no free space at all.
    if (blocks === 0) return { found: 'writable' }
    const found = `${sizeText(bavail * bsize)} free`
    const note =
      'less than 1 GB is free, and a full disk stops this sink; free space, or give it a larger disk'
    return bavail * bsize < lowFreeBytes ? { found, note } : { found }
  } finally {
    // A folder that another process started to use meanwhile is not empty and stays.
    for (const folder of made.reverse()) await rmdir(folder).catch(() => undefined)
  }
}
