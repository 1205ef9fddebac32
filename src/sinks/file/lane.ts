import { cancelled } from '../../domain/failure.ts'
import { orAborted } from '../../domain/within.ts'
import type { Clock } from '../../ports.ts'

/** Work on one stream's files, one job after another: a cut waits for the write before it, however that ends. */
export interface Lanes {
  run<T>(stream: string, job: () => Promise<T>): Promise<T>
  /** Resolves when no job is left. */
  idle(): Promise<void>
}

export function createLanes(): Lanes {
  const ends = new Map<string, Promise<unknown>>()
  return {
    async run(stream, job) {
      const before = ends.get(stream) ?? Promise.resolve()
      const work = before.then(job, job)
      // The lane goes on after a failed job; the failure belongs to who asked for it.
      const end = work.catch(() => undefined)
      ends.set(stream, end)
      try {
        return await work
      } finally {
        if (ends.get(stream) === end) ends.delete(stream)
      }
    },
    async idle() {
      await Promise.all(ends.values())
    },
  }
}

/**
 * The result of work on files, which nobody can cancel: a write hangs as long as its disk does. Once the signal aborts
 * the work gets `graceMs` more to take back what it wrote; then the caller goes on with `cancelled` and leaves it behind.
 */
export function patiently<T>(
  work: Promise<T>,
  signal: AbortSignal,
  clock: Clock,
  graceMs: number,
): Promise<T> {
  return orAborted(work, signal, { ms: graceMs, clock })
}

export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw cancelled(signal.reason)
}
