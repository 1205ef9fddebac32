/** Guards the schedule of an embedded store: one `run` per store. Dies with its process. */
export interface ScheduleLock {
  /** False when another live process has it; `holder` then names that process. */
  acquire(): Promise<{ ok: true } | { ok: false; holder: string }>
  /** Who holds it now, for `status` and for commands that ask whether a `run` is there. */
  holder(): Promise<string | undefined>
  release(): Promise<void>
}

/** Makes pumps start when streams are due, and stops them. */
export interface Schedule {
  start(): Promise<void>
  /** Aborts what runs and resolves when nothing runs any more. Safe twice and before `start`. */
  stop(): Promise<void>
}
