import { cancelled } from '../../domain/failure.ts'

/** Work on one stream's files, one job after another: a cut waits for the write before it, however that ends. */
export interface KeyedMutex {
  run<T>(key: string, job: () => Promise<T>): Promise<T>
  /** Resolves when no job is left. */
  idle(): Promise<void>
}

export function createKeyedMutex(): KeyedMutex {
  const ends = new Map<string, Promise<unknown>>()
  return {
    async run(key, job) {
      const before = ends.get(key) ?? Promise.resolve()
      const work = before.then(job, job)
      // The next job runs also after a failed one; the failure belongs to who asked for it.
      const end = work.catch(() => undefined)
      ends.set(key, end)
      try {
        return await work
      } finally {
        if (ends.get(key) === end) ends.delete(key)
      }
    },
    async idle() {
      await Promise.all(ends.values())
    },
  }
}

export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw cancelled(signal.reason)
}
