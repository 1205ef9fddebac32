import { isFailure } from '../../domain/failure.ts'
import type { Clock } from '../../ports/process.ts'
import type { Records, Write } from '../../ports/records.ts'
import type { WriteFailure, Writes } from '../../ports/store.ts'

/** Of a trial where nothing has failed: more than what fits into space that a full disk still has by chance. */
const trialBytes = 65_536
/** A trial takes no longer than a commit. */
const mostTrialBytes = 1_048_576

/**
 * The records, and whether they can be written. A store that is full can be read, and takes what is small for a while: a
 * failure is over only when as much was written as failed.
 */
export function watchWrites(records: Records, clock: Clock): { records: Records; writes: Writes } {
  let failing: (WriteFailure & { readonly bytes: number }) | undefined
  let failedAtMs: number | undefined

  async function write(asked: Write): Promise<boolean> {
    try {
      const isDone = await records.write(asked)
      if (failing !== undefined && bytesOf(asked) >= failing.bytes) failing = undefined
      return isDone
    } catch (error) {
      if (!isFailure(error)) throw error
      failedAtMs = clock.now()
      const bytes = Math.min(mostTrialBytes, Math.max(bytesOf(asked), failing?.bytes ?? 0))
      failing = { sinceMs: failing?.sinceMs ?? failedAtMs, message: error.message, bytes }
      throw error
    }
  }

  return {
    records: { ...records, write },
    writes: {
      failure: () => failing,
      failedAtMs: () => failedAtMs,
      async tryOne() {
        const key = ['trials', 'trial'] as const
        const bytes = new Uint8Array(failing?.bytes ?? trialBytes)
        try {
          await write({ when: [], put: [[...key, bytes]], loosely: true })
          await write({ when: [], remove: [key], loosely: true })
        } catch (error) {
          if (!isFailure(error)) throw error
        }
      },
    },
  }
}

function bytesOf({ put = [], append = [] }: Write): number {
  let bytes = 0
  for (const [, , value] of put) bytes += value.length
  for (const [, , value] of append) bytes += value.length
  return bytes
}
