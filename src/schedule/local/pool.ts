import type { Clock } from '../../ports/process.ts'

/** Runs a limited number of tasks at once, at most one for each key, and waits for all of them. */
export interface Pool {
  readonly size: number
  isFull(): boolean
  has(key: string): boolean
  /** How many tasks of a group run. */
  sizeOf(group: string): number
  /** Starts the task; it must not reject. */
  run(key: string, group: string, task: () => Promise<void>): void
  /** Resolves when a running task ends, after `mostMs` at the latest. Rejects when the signal aborts. */
  next(clock: Clock, mostMs: number, signal: AbortSignal): Promise<void>
  drained(): Promise<void>
}

export function createPool(limit: () => number): Pool {
  const running = new Map<string, Promise<void>>()
  const groups = new Map<string, string>()
  /** Callers that wait for a task to end. `Promise.race` would leave a handler on each running task. */
  const waiting = new Set<AbortController>()
  return {
    get size() {
      return running.size
    },
    isFull: () => running.size >= limit(),
    has: (key) => running.has(key),
    sizeOf: (group) => [...groups.values()].filter((each) => each === group).length,
    run(key, group, task) {
      groups.set(key, group)
      const ended = task().finally(() => {
        running.delete(key)
        groups.delete(key)
        for (const waiter of waiting) waiter.abort()
      })
      running.set(key, ended)
    },
    async next(clock, mostMs, signal) {
      const waiter = new AbortController()
      waiting.add(waiter)
      try {
        await clock.sleep(mostMs, AbortSignal.any([signal, waiter.signal]))
      } catch (error) {
        if (signal.aborted || !waiter.signal.aborted) throw error
      } finally {
        waiting.delete(waiter)
      }
    },
    async drained() {
      while (running.size > 0) await Promise.all(running.values())
    },
  }
}
