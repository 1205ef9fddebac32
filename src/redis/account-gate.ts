import { cancelled, Failure } from '../domain/failure.ts'
import type { AccountGate } from '../ports/account-gate.ts'
import type { Clock } from '../ports/clock.ts'
import type { RedisClient } from './connection.ts'
import { loadScript, type Script } from './script.ts'
import { within } from '../domain/within.ts'

export interface SharedGateOptions {
  readonly keyPrefix: string
  readonly account: string
  /** Of all processes together. */
  readonly maxRequestsPerSecond: number | null
}

export interface SharedGateDeps {
  readonly clock: Clock
  /** Stays open. */
  readonly client: RedisClient
  /** The gate of this process alone: takes over while Redis is away, and keeps the pauses that this process knows. */
  readonly local: AccountGate
}

type Answer = readonly ['paused' | 'pass' | 'full', number]

const longestWaitMs = 2_000
const longestLineMs = 60_000
/** A pause is seen by every process after this time at the latest. */
const freshMs = 100
const patienceMs = 250
/** After Redis failed to answer it is left alone for so long. */
const awayMs = 1_000
const mostTurns = 100

/**
 * The gate of an account for all processes on one Redis: a pause stops all of them at once, and the rate is one budget.
 * While Redis is away each process goes by its own gate: the rate then holds for each alone.
 */
export function createSharedAccountGate(options: SharedGateOptions, deps: SharedGateDeps): AccountGate {
  const { account, maxRequestsPerSecond } = options
  const { clock, client, local } = deps
  const everyMs = maxRequestsPerSecond === null ? 0 : 1000 / maxRequestsPerSecond
  const enterScript = loadScript(client, new URL('./gate-enter.lua', import.meta.url))
  const pauseScript = loadScript(client, new URL('./gate-pause.lua', import.meta.url))
  const slot = `{${options.keyPrefix}}:account:${encodeURIComponent(account)}`
  let awayUntilMs = -Infinity
  let fresh: { readonly answer: Promise<Answer | undefined>; readonly untilMs: number } | undefined

  /** Undefined while Redis is away. */
  async function ask(script: Script, keys: readonly string[], args: readonly number[]): Promise<unknown> {
    if (clock.monotonic() < awayUntilMs) return undefined
    try {
      const answer = await within(patienceMs, script(keys, args), clock)
      if (answer !== 'late') return answer.value
    } catch {
      // What is wrong with Redis is told by the store, whose work cannot go on without it.
    }
    awayUntilMs = clock.monotonic() + awayMs
    return undefined
  }

  async function askToEnter(everyMs: number): Promise<Answer | undefined> {
    const keys = [`${slot}:pause`, `${slot}:rate`]
    const answer = await ask(enterScript, keys, [everyMs, longestWaitMs, longestLineMs])
    if (!Array.isArray(answer)) return undefined
    const [what, ms] = answer as unknown[]
    if (what === 'paused') await local.pauseUntil(clock.now() + Number(ms))
    return what === 'paused' || what === 'pass' || what === 'full' ? [what, Number(ms)] : undefined
  }

  async function isPaused(): Promise<boolean> {
    return local.throttledUntilMs !== undefined || (await askToEnter(0))?.[0] === 'paused'
  }

  /** Without a rate the answer is the same for everybody, so it is asked for now and then only. */
  function entering(): Promise<Answer | undefined> {
    if (everyMs > 0) return askToEnter(everyMs)
    if (fresh === undefined || fresh.untilMs <= clock.monotonic())
      fresh = { answer: askToEnter(0), untilMs: clock.monotonic() + freshMs }
    return fresh.answer
  }

  function throttled(why: string, leftMs: number): Failure {
    const retryAt = Math.ceil(clock.now() + leftMs)
    return new Failure('wait', 'throttled', `account ${account}: ${why}`, { retryAt })
  }

  return {
    get throttledUntilMs() {
      return local.throttledUntilMs
    },
    async enter(signal) {
      if (signal.aborted) throw cancelled(signal.reason)
      const deadlineMs = clock.monotonic() + longestWaitMs
      for (let turn = 0; turn < mostTurns; turn++) {
        // A pause that this process knows holds also where Redis has lost it.
        const knownMs = (local.throttledUntilMs ?? 0) - clock.now()
        const answer: Answer | undefined = knownMs > 0 ? ['paused', knownMs] : await entering()
        if (signal.aborted) throw cancelled(signal.reason)
        if (answer === undefined) return local.enter(signal)
        const [what, ms] = answer
        if (what === 'full') throw throttled('its requests per second are used up', ms)
        if (what === 'pass') {
          if (ms === 0) return undefined
          await clock.sleep(ms, signal)
          // A pause may have come while the place was waited for; the place is then lost.
          if (!(await isPaused())) return undefined
          continue
        }
        if (clock.monotonic() + ms > deadlineMs) throw throttled('the API asked for a pause', ms)
        await clock.sleep(Math.max(1, ms), signal)
      }
      throw throttled('it is paused again and again', longestWaitMs)
    },
    async pauseUntil(atMs) {
      await local.pauseUntil(atMs)
      const leftMs = Math.ceil(atMs - clock.now())
      fresh = undefined
      if (leftMs > 0) await ask(pauseScript, [`${slot}:pause`], [leftMs])
    },
  }
}
