import { writeSync } from 'node:fs'

/** How long one line may wait for a reader that has stopped reading before the line is dropped. */
const patienceMs = 1000
const pauseMs = 10

const sleeper = new Int32Array(new SharedArrayBuffer(4))

export interface LineWriter {
  write(text: string): void
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}

/**
 * Writes to a descriptor synchronously, so that the last lines of a dying process are not lost. Never throws: a full
 * disk or a closed pipe behind the log loses lines, but does not stop the process. A reader that has stopped reading
 * delays the first line by `patienceMs`; until it reads again, each further line gets one try. (On a blocking
 * descriptor the kernel itself waits for the reader without a limit.)
 */
export function createLineWriter(descriptor: number): LineWriter {
  let stalled = false
  let torn = false

  /** Returns false when the rest could not be written. */
  function writeAll(bytes: Uint8Array): boolean {
    let written = 0
    let patience = stalled ? 0 : patienceMs / pauseMs
    while (written < bytes.length) {
      try {
        written += writeSync(descriptor, bytes, written)
        stalled = false
      } catch (error) {
        const again = codeOf(error) === 'EAGAIN' && patience > 0
        if (!again) {
          stalled = codeOf(error) === 'EAGAIN'
          torn ||= written > 0
          return false
        }
        patience--
        Atomics.wait(sleeper, 0, 0, pauseMs)
      }
    }
    return true
  }

  return {
    write(text) {
      const whole = writeAll(Buffer.from(torn ? `\n${text}` : text))
      if (whole) torn = false
    },
  }
}
