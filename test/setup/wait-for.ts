import { setTimeout as sleep } from 'node:timers/promises'

export interface WaitForOptions {
  /** Default 10 s: a bound for a test that fails, not a figure to wait for. */
  readonly timeoutMs?: number
  readonly everyMs?: number
  /** Stands in the error: `gave up waiting for <what>`. A function is asked when the wait fails. */
  readonly what: string | (() => string)
}

/**
 * Asks until the condition holds (is truthy), then gives its value. A condition that throws does not hold yet; its last error is the
 * cause of the error that this rejects with after `timeoutMs`.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  options: WaitForOptions,
): Promise<Exclude<T, undefined | null | false | 0 | ''>> {
  const { timeoutMs = 10_000, everyMs = 20, what } = options
  const deadline = performance.now() + timeoutMs
  let last: unknown
  for (;;) {
    try {
      const value = await condition()
      const holds = Boolean(value)
      if (holds) return value as Exclude<T, undefined | null | false | 0 | ''>
      last = undefined
    } catch (error) {
      last = error
    }
    if (performance.now() >= deadline) break
    await sleep(everyMs)
  }
  const named = typeof what === 'string' ? what : what()
  throw new Error(`gave up waiting for ${named} after ${timeoutMs} ms`, { cause: last })
}
