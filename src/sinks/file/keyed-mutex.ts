import { cancelled } from '../../domain/failure.ts'

/** Runs the jobs on one stream's files one after another: a cut waits for the write before it, however that ends. */
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
      // The next job also runs after a failed one; the failure goes to the caller of the failed job.
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
