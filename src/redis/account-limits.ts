import { within } from '../domain/promises.ts'
import type { Clock, Place, PlaceAsked, SharedLimits } from '../ports/process.ts'
import type { RedisClient } from './connection.ts'
import { loadScript, type Script } from './script.ts'

interface AccountLimitsOptions {
  readonly keyPrefix: string
  readonly account: string
  /** Of all processes together. */
  readonly maxRequestsPerSecond: number | null
}

const answers = ['paused', 'pass', 'later', 'full'] as const
const longestLineMs = 60_000
/** Every process sees a pause within this time. */
const freshMs = 100
const patienceMs = 250
/** After Redis failed to answer, no request goes to it for this long. */
const awayMs = 1_000

/** The rate and the pauses of an account, for all processes on one Redis. Does not close the client. */
export function createAccountLimits(
  options: AccountLimitsOptions,
  client: RedisClient,
  clock: Clock,
): SharedLimits {
  return new AccountLimits(options, client, clock)
}

class AccountLimits implements SharedLimits {
  readonly #clock: Clock
  readonly #client: RedisClient
  readonly #everyMs: number
  readonly #keys: Readonly<Record<'pause' | 'rate', string>>
  readonly #scripts: Readonly<Record<'take' | 'pause', Script>>
  #awayUntilMs = -Infinity
  #fresh: { readonly pausedMs: Promise<number | undefined>; readonly untilMs: number } | undefined

  constructor(
    { keyPrefix, account, maxRequestsPerSecond }: AccountLimitsOptions,
    client: RedisClient,
    clock: Clock,
  ) {
    this.#client = client
    this.#clock = clock
    this.#everyMs = maxRequestsPerSecond === null ? 0 : 1000 / maxRequestsPerSecond
    const key = (name: string) => `{${keyPrefix}}:account:${encodeURIComponent(account)}:${name}`
    this.#keys = { pause: key('pause'), rate: key('rate') }
    const script = (name: string) => loadScript(client, new URL(`./${name}.lua`, import.meta.url))
    this.#scripts = { take: script('account-take'), pause: script('account-pause') }
  }

  async take({ longestWaitMs, mayWait }: PlaceAsked): Promise<Place | undefined> {
    if (this.#everyMs === 0) {
      const pausedMs = await this.#freshPause()
      return pausedMs === undefined ? undefined : pausedMs > 0 ? ['paused', pausedMs] : ['pass', 0]
    }
    const { pause, rate } = this.#keys
    const args = [this.#everyMs, longestWaitMs, longestLineMs, mayWait ? 1 : 0]
    const answer = await this.#run(() => this.#scripts.take([pause, rate], args))
    if (!Array.isArray(answer)) return undefined
    const what = answers.find((known) => known === answer[0])
    return what === undefined ? undefined : [what, Number(answer[1])]
  }

  async pause(ms: number): Promise<void> {
    this.#fresh = undefined
    await this.#run(() => this.#scripts.pause([this.#keys.pause], [ms]))
  }

  async pausedMs(): Promise<number | undefined> {
    const ms = await this.#run(() => this.#client.pttl(this.#keys.pause))
    return ms === undefined ? undefined : Math.max(0, Number(ms))
  }

  /** Without a rate the answer is the same for all requests, so they share it for a short time. */
  #freshPause(): Promise<number | undefined> {
    const nowMs = this.#clock.monotonic()
    if (this.#fresh === undefined || this.#fresh.untilMs <= nowMs)
      this.#fresh = { pausedMs: this.pausedMs(), untilMs: nowMs + freshMs }
    return this.#fresh.pausedMs
  }

  /** Undefined while Redis is away. */
  async #run(command: () => Promise<unknown>): Promise<unknown> {
    if (this.#clock.monotonic() < this.#awayUntilMs) return undefined
    try {
      const answer = await within(patienceMs, command(), this.#clock)
      if (answer !== 'late') return answer.value
    } catch {
      // The store reports errors of Redis, since its work cannot continue without it.
    }
    this.#awayUntilMs = this.#clock.monotonic() + awayMs
    return undefined
  }
}
