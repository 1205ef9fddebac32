import { fstatSync, write } from 'node:fs'
import type { Writable } from 'node:stream'
import { promisify } from 'node:util'

/** Writes bytes and reports when the operating system has them. */
export interface Output {
  /** Resolves when the operating system has every byte. Rejects with the system's error. */
  write(bytes: Buffer): Promise<void>
  /** Why nothing can be written any more; undefined while writing works. */
  gone(): Error | undefined
  /** Stops listening for errors. Does not wait for a write in progress. */
  close(): void
}

const writeAt = promisify(write)
const lineBreak = 0x0a

export function openOutput(stream: Writable): Output {
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
    close: () => {},
  }
}

/** A pipe, a terminal or a socket. An `error` event without a listener would end the process. */
function openStream(stream: Writable): Output {
  let failed: Error | undefined
  let closed = false
  let pending = 0
  const onError = (error: Error) => {
    failed ??= error
  }
  const settle = () => {
    // The stream reports a failed write a second time, as an event: then its listener stays.
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
