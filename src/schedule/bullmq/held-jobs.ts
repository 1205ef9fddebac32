import type { Job, Worker } from 'bullmq'
import { messageOf } from '../../domain/failure.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Voice } from './voice.ts'

/** A job that this process works on, under a lock in Redis. */
export interface HeldJob {
  readonly job: Job
  readonly token: string
  /** Aborts when the lock is lost: another process may have the job by now. */
  readonly signal: AbortSignal
}

export type Ending = 'done' | 'given back'

export interface HeldJobs {
  readonly size: number
  hold(job: Job, token: string): HeldJob
  /** Ends a job in Redis. Ignored for one whose lock was lost, and for one that was ended already. */
  end(held: HeldJob, as: Ending): Promise<void>
  /** All jobs that have not ended. */
  all(): readonly HeldJob[]
  /** Prolongs the locks until the signal aborts. */
  keep(signal: AbortSignal): Promise<void>
}

interface HeldJobsDeps {
  readonly clock: Clock
  readonly voice: Voice
  readonly worker: () => Worker
  readonly lockMs: number
}

interface Entry extends HeldJob {
  readonly abort: AbortController
  /** By the clock that never jumps: the lock stands until then at least. */
  standsUntilMs: number
}

const endAgainMs = 1_000

export function createHeldJobs({ clock, voice, worker, lockMs }: HeldJobsDeps): HeldJobs {
  const entries = new Map<string, Entry>()
  let prolonging = false

  function lose(entry: Entry, why: string): void {
    if (!entries.delete(entry.token)) return
    entry.abort.abort(new Error(why))
  }

  /** A process that was frozen, or cut off from Redis, must take it that others have its jobs by now. */
  function loseOutrun(): void {
    const nowMs = clock.monotonic()
    for (const entry of entries.values()) if (entry.standsUntilMs <= nowMs) lose(entry, 'the lock ran out')
  }

  async function prolong(): Promise<void> {
    const asked = [...entries.values()]
    if (asked.length === 0 || prolonging) return
    prolonging = true
    const fromMs = clock.monotonic()
    try {
      const ids = asked.map(({ job }) => job.id ?? '')
      const tokens = asked.map(({ token }) => token)
      const lost = new Set(await worker().extendJobLocks(ids, tokens, lockMs))
      for (const entry of asked) {
        if (lost.has(entry.job.id ?? '')) lose(entry, 'the lock was taken')
        else entry.standsUntilMs = fromMs + lockMs
      }
    } catch (error) {
      voice(error)
    } finally {
      prolonging = false
    }
  }

  return {
    get size() {
      return entries.size
    },
    hold(job, token) {
      const abort = new AbortController()
      const standsUntilMs = clock.monotonic() + lockMs
      const entry = { job, token, abort, signal: abort.signal, standsUntilMs }
      entries.set(token, entry)
      return entry
    },
    async end({ job, token }, as) {
      while (entries.has(token)) {
        try {
          if (as === 'done') await job.moveToCompleted(null, token, false)
          else await job.moveToWait(token)
          entries.delete(token)
          return
        } catch (error) {
          if (isGone(error)) {
            entries.delete(token)
            return
          }
          voice(error)
          // Until its lock runs out; then it is left to whoever looks for stalled jobs.
          await clock.sleep(endAgainMs, new AbortController().signal)
          loseOutrun()
        }
      }
    },
    all: () => [...entries.values()],
    async keep(signal) {
      while (!signal.aborted) {
        await clock.sleep(lockMs / 3, signal).catch(() => undefined)
        loseOutrun()
        void prolong()
      }
    },
  }
}

/** The job is no longer this process's, or no longer there. */
function isGone(error: unknown): boolean {
  return /Missing (?:lock|key)|Lock mismatch|not in the active state|not in active/i.test(messageOf(error))
}
