import { setTimeout as sleep } from 'node:timers/promises'

/**
 * How long a wait goes on while nothing happens: a bound for a test that hangs, also on a machine that is busy with
 * other things. No wait that ends well comes near it.
 */
export const patienceMs = 120_000

/** A condition that reads files or a store is asked less often than it could be: other suites need the processor. */
const restPerWork = 10
const longestRestMs = 500

export interface WaitForOptions {
  /** Instead of `patienceMs`: only for a wait that is meant to fail. */
  readonly timeoutMs?: number
  readonly everyMs?: number
  /** Stands in the error: `gave up waiting for <what>`. A function is asked when the wait fails. */
  readonly what: string | (() => string)
  /** What a program says of its progress since the wait began; asked then, and whenever the bound is reached. */
  readonly pace?: (beganAtMs: number) => Pace | Promise<Pace>
}

export interface Pace {
  /** Another text than before is progress: the bound counts anew. It must not change without end. */
  readonly done: string
  /** When the program means to do what is waited for, by this host's clock: the bound counts from then. */
  readonly dueAtMs: number
}

/**
 * Asks until the condition holds (is truthy), then gives its value. A condition that throws does not hold yet; its last
 * error is the cause of the error that this rejects with.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  { timeoutMs = patienceMs, everyMs = 20, what, pace }: WaitForOptions,
): Promise<Exclude<T, undefined | null | false | 0 | ''>> {
  const beganAtMs = Date.now()
  const ask = async () => await pace?.(beganAtMs)
  let latest = await ask().catch(() => undefined)
  let deadline = deadlineAfter(latest, timeoutMs)
  let last: unknown
  for (;;) {
    const askedAtMs = performance.now()
    try {
      const value = await condition()
      const holds = Boolean(value)
      if (holds) return value as Exclude<T, undefined | null | false | 0 | ''>
      last = undefined
    } catch (error) {
      last = error
    }
    if (performance.now() >= deadline) {
      const before = latest
      latest = await ask().catch(() => undefined)
      if (latest?.done === before?.done) break
      deadline = deadlineAfter(latest, timeoutMs)
    }
    const tookMs = performance.now() - askedAtMs
    await sleep(Math.max(everyMs, Math.min(restPerWork * tookMs, longestRestMs)))
  }
  const named = typeof what === 'string' ? what : what()
  throw new Error(`gave up waiting for ${named} after ${timeoutMs} ms${sayOf(latest)}`, { cause: last })
}

function deadlineAfter(pace: Pace | undefined, timeoutMs: number): number {
  const untilDueMs = pace === undefined ? 0 : Math.max(0, pace.dueAtMs - Date.now())
  return performance.now() + untilDueMs + timeoutMs
}

function sayOf(pace: Pace | undefined): string {
  if (pace === undefined) return ''
  return ` without progress (${pace.done}; due ${new Date(pace.dueAtMs).toISOString()})`
}
