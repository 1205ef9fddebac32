import { fstatSync, write } from 'node:fs'
import type { Writable } from 'node:stream'
import { promisify } from 'node:util'

/** Takes bytes and tells when they are out of our hands. */
export interface Output {
  /** Resolves when the operating system has every byte. Rejects with the system's error. */
  write(bytes: Buffer): Promise<void>
  /** Why nothing can be written any more. */
  gone(): Error | undefined
  /** Stops listening for errors. What is being written is not waited for. */
  close(): void
}

const writeAt = promisify(write)
const lineBreak = 0x0a

export function openOutput(stream: Writable): Output {
  const fd: unknown = Reflect.get(stream, 'fd')
  return typeof fd === 'number' && isFile(fd) ? openFile(fd) : openStream(stream)
}

/**
 * For stdout that is redirected to a file Node writes once and does not look how much was taken: on a full disk the
 * rest would be lost and acknowledged. What a failed write left behind is ended by a line break before the next one.
 */
function openFile(fd: number): Output {
  let torn = false
  return {
    async write(bytes) {
      const whole = torn ? Buffer.concat([Buffer.of(lineBreak), bytes]) : bytes
      for (let at = 0; at < whole.length;) {
        const { bytesWritten } = await writeAt(fd, whole, at, whole.length - at)
        if (bytesWritten === 0) throw new Error('the file takes no bytes')
        at += bytesWritten
        torn = whole[at - 1] !== lineBreak
      }
    },
    gone: () => undefined,
    close: () => {},
  }
}

/** A pipe, a terminal, a socket. An `error` that nobody listens for would end the process. */
function openStream(stream: Writable): Output {
  let failed: Error | undefined
  let closed = false
  let pending = 0
  const onError = (error: Error) => {
    failed ??= error
  }
  const settle = () => {
    // The stream reports a failed write a second time, as an event: its listener then stays for good.
    if (closed && pending === 0 && failed === undefined) stream.off('error', onError)
  }
  stream.on('error', onError)
  return {
    write: (bytes) =>
      new Promise((resolve, reject) => {
        pending++
        stream.write(bytes, (error) => {
          pending--
          failed ??= error ?? undefined
          settle()
          if (error) reject(error)
          else resolve()
        })
      }),
    gone() {
      if (failed !== undefined) return failed
      return stream.destroyed || stream.writableEnded ? new Error('the stream was closed') : undefined
    },
    close() {
      closed = true
      settle()
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
