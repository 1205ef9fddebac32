/** Guards the schedule of an embedded store: one `run` per store. The end of its process releases it. */
export interface ScheduleLock {
  /** False when another live process has it; `holder` then names that process. */
  acquire(): Promise<{ ok: true } | { ok: false; holder: string }>
  /** Who holds it now, for `status` and for commands that need to know whether a `run` is active. */
  holder(): Promise<string | undefined>
  release(): Promise<void>
}

/** Starts pumps when streams are due, and stops them. */
export interface Schedule {
  start(): Promise<void>
  /** Aborts what runs and resolves when all of it has ended. May be called twice, and before `start`. */
  stop(): Promise<void>
}
