import { fstatSync, write } from 'node:fs'
import type { Writable } from 'node:stream'
import { promisify } from 'node:util'
import type { Delivery, Refusal } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { cancelled, Failure } from '../../domain/failure.ts'
import { createInTurn, orAborted, within } from '../../domain/promises.ts'
import { inertJson } from '../../domain/text/json.ts'
import { systemCode, systemErrorText } from '../../domain/text/system-error.ts'
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
  const { format, clock, output } = deps
  const writeTo = writerTo(output)
  // Escapes control characters for a terminal: attackers choose the content. The JSON value stays the same.
  const inert: Format = { ...format, encode: (event) => inertJson(format.encode(event)) }
  const encode = createEncoder(Reflect.get(output, 'isTTY') === true ? inert : format)
  // A write begins when the one before it ends, also after an abort, so that deliveries do not pile up in the stream.
  const inTurn = createInTurn()
  let isClosed = false

  function assertOpen(): void {
    if (isClosed) throw cancelled()
    const gone = output.destroyed || output.writableEnded ? new Error('the stream was closed') : undefined
    const why = output.errored ?? gone
    if (why !== undefined) throw sinkGone(name, why)
  }

  async function write(events: readonly Event[], signal: AbortSignal): Promise<Delivery> {
    const refusals: Refusal[] = []
    let bytes = 0
    for (const chunk of encode(events, refusals)) {
      if (signal.aborted) throw cancelled(signal.reason)
      assertOpen()
      await writeTo(chunk.bytes)
      bytes += chunk.bytes.length
    }
    return { refusals, committed: [], bytes }
  }

  const stream: OpenStream = {
    async deliver(events, signal) {
      try {
        const written = inTurn(() => write(events, signal))
        return await orAborted(written, signal)
      } catch (error) {
        throw error instanceof Failure ? error : sinkGone(name, error)
      }
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
    async close() {
      isClosed = true
      const written = inTurn(() => Promise.resolve())
      await within(closeWaitMs, written, clock)
    },
  }
}

function sinkGone(sink: string, cause: unknown): Failure {
  const code = systemCode(cause)
  const isFull = code === 'ENOSPC' || code === 'EDQUOT'
  const why = code === 'EPIPE' ? 'its reader closed the pipe (EPIPE)' : systemErrorText(cause)
  const text = `sink ${sink}: stdout cannot be written: ${why}`
  return new Failure('stop', isFull ? 'disk_full' : 'sink_gone', text, { cause })
}

const writeAt = promisify(write)
const lineBreak = 0x0a

/** An `error` event without a listener would end the process; the failed write, and `errored`, tell of it. */
const ignored = () => undefined

/** Resolves when the operating system has every byte. */
function writerTo(stream: Writable): (bytes: Buffer) => Promise<void> {
  const fd: unknown = Reflect.get(stream, 'fd')
  if (typeof fd === 'number' && fstatSync(fd).isFile()) return writerToFile(fd)
  // A pipe, a terminal or a socket.
  if (!stream.listeners('error').includes(ignored)) stream.on('error', ignored)
  return promisify((bytes: Buffer, done: (error?: Error | null) => void) => stream.write(bytes, done))
}

/**
 * For a stdout that is redirected to a file. Node itself would write once and ignore a partial write: on a full disk the
 * rest would be lost yet acknowledged. After a failed write the next one begins with a line break.
 */
function writerToFile(fd: number): (bytes: Buffer) => Promise<void> {
  let torn = false
  return async (bytes) => {
    const whole = torn ? Buffer.concat([Buffer.of(lineBreak), bytes]) : bytes
    for (let at = 0; at < whole.length;) {
      const { bytesWritten } = await writeAt(fd, whole, at, whole.length - at)
      if (bytesWritten === 0) throw new Error('the file system accepts no more bytes and reports no error')
      at += bytesWritten
      torn = whole[at - 1] !== lineBreak
    }
  }
}
