import { fstatSync, write } from 'node:fs'
import type { Writable } from 'node:stream'
import { promisify } from 'node:util'
import type { Delivery, Refusal } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { cancelled, Failure } from '../../domain/failure.ts'
import { createInTurn, orAborted, within } from '../../domain/promises.ts'
import { inertJson } from '../../domain/text/json-text.ts'
import { systemErrorText } from '../../domain/text/system-error.ts'
import type { Format, OpenStream, Sink } from '../../ports/delivery.ts'
import type { SinkDeps } from '../deps.ts'
import { createEncoder } from '../lines.ts'

/** How long closing waits for a write that the reader has not accepted yet. */
const closeWaitMs = 1_000

/**
 * Writes lines to a stream, at least once up to the pipe: the reader is responsible from there on. Deliveries of
 * all streams are serialised, so lines never interleave, and a stalled reader costs the memory of one write. An abort
 * ends only the waiting: bytes handed to the stream may still arrive. Throws Failure `sink_gone` (stop) when the reader
 * closed the pipe, `disk_full` (stop) where stdout is a file. Never ends `output`.
 */
export function createStdoutSink(
  { name }: { readonly name: string },
  deps: Pick<SinkDeps, 'format' | 'output' | 'clock'>,
): Sink {
  const { format, clock } = deps
  const output = openOutput(deps.output)
  const shown = Reflect.get(deps.output, 'isTTY') === true ? inertFormat(format) : format
  const inTurn = createInTurn()
  let closing: Promise<void> | undefined
  let writing: Promise<unknown> = Promise.resolve()

  function assertOpen(): void {
    if (closing !== undefined) throw cancelled()
    const gone = output.gone()
    if (gone !== undefined) throw sinkGone(name, gone)
  }

  const encode = createEncoder(shown)

  async function write(events: readonly Event[], signal: AbortSignal): Promise<Delivery> {
    // The next write begins when this one ends, also after an abort, so that deliveries do not pile up in the stream.
    const written = inTurn(async () => {
      const refusals: Refusal[] = []
      let bytes = 0
      for (const chunk of encode(events, refusals)) {
        if (signal.aborted) throw cancelled(signal.reason)
        assertOpen()
        await output.write(chunk.bytes)
        bytes += chunk.bytes.length
      }
      return { refusals, committed: [], bytes }
    })
    writing = written.catch(() => undefined)
    try {
      return await orAborted(written, signal)
    } catch (error) {
      throw error instanceof Failure ? error : sinkGone(name, error)
    }
  }

  const stream: OpenStream = {
    async deliver(events, signal): Promise<Delivery> {
      if (signal.aborted) throw cancelled(signal.reason)
      return write(events, signal)
    },
    close: () => Promise.resolve(),
  }

  return {
    name,
    address: 'stdout',
    open: () => Promise.resolve(stream),
    async check() {
      assertOpen()
      return undefined
    },
    close: () => (closing ??= within(closeWaitMs, writing, clock).then(() => undefined)),
  }
}

/** Escapes control characters for a terminal: attackers choose the content. The JSON value stays the same. */
function inertFormat(format: Format): Format {
  return { ...format, encode: (event) => inertJson(format.encode(event)) }
}

function sinkGone(sink: string, cause: unknown): Failure {
  const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : undefined
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new Failure('stop', 'disk_full', `sink ${sink}: the disk that stdout is written to is full`, {
      cause,
    })
  const why = code === 'EPIPE' ? 'its reader closed the pipe (EPIPE)' : systemErrorText(cause)
  return new Failure('stop', 'sink_gone', `sink ${sink}: stdout cannot be written: ${why}`, { cause })
}

/** Writes bytes and reports when the operating system has them. */
interface Output {
  /** Resolves when the operating system has every byte. Rejects with the system's error. */
  write(bytes: Buffer): Promise<void>
  /** Why nothing can be written any more; undefined while writing works. */
  gone(): Error | undefined
}

const writeAt = promisify(write)
const lineBreak = 0x0a

function openOutput(stream: Writable): Output {
  const fd: unknown = Reflect.get(stream, 'fd')
  return typeof fd === 'number' && isFile(fd) ? openFile(fd) : openStream(stream)
}

/**
 * Writes to a stdout that is redirected to a file. Node itself would write once and ignore a partial write: on a full
 * disk the rest would be lost yet acknowledged. After a failed write the next one begins with a line break.
 */
function openFile(fd: number): Output {
  let torn = false
  return {
    async write(bytes) {
      const whole = torn ? Buffer.concat([Buffer.of(lineBreak), bytes]) : bytes
      for (let at = 0; at < whole.length;) {
        const { bytesWritten } = await writeAt(fd, whole, at, whole.length - at)
        if (bytesWritten === 0) throw new Error('the file system accepts no more bytes and reports no error')
        at += bytesWritten
        torn = whole[at - 1] !== lineBreak
      }
    },
    gone: () => undefined,
  }
}

/** An `error` event without a listener would end the process; the failed write, and `errored`, tell of it. */
const ignored = () => undefined

/** A pipe, a terminal or a socket. */
function openStream(stream: Writable): Output {
  if (!stream.listeners('error').includes(ignored)) stream.on('error', ignored)
  return {
    write: (bytes) =>
      new Promise((resolve, reject) => {
        stream.write(bytes, (error) => (error ? reject(error) : resolve()))
      }),
    gone() {
      if (stream.errored !== null) return stream.errored
      return stream.destroyed || stream.writableEnded ? new Error('the stream was closed') : undefined
    },
  }
}

function isFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile()
  } catch {
    return false
  }
}
