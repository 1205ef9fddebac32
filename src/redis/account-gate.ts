import { backfillTurnMs } from '../domain/plan/backfill-turn.ts'
import { cancelled, Failure, gaveWay } from '../domain/failure.ts'
import type { Priority } from '../domain/stream.ts'
import { within } from '../domain/promises.ts'
import type { AccountGate, Clock } from '../ports/process.ts'
import type { RedisClient } from './connection.ts'
import { loadScript, type Script } from './script.ts'

export interface SharedGateOptions {
  readonly keyPrefix: string
  readonly account: string
  /** Of all processes together. */
  readonly maxRequestsPerSecond: number | null
}

export interface SharedGateDeps {
  readonly clock: Clock
  /** The gate does not close it. */
  readonly client: RedisClient
  /** The gate of this process alone: used while Redis is away; keeps the pauses that this process knows. */
  readonly local: AccountGate
}

const answers = ['behind', 'paused', 'pass', 'later', 'full'] as const
type Answer = readonly [(typeof answers)[number], number]

const longestWaitMs = 2_000
const longestLineMs = 60_000
/** Live streams expire after this time unless set again: a dead scheduler does not delay backfills. */
const expectedForMs = 15_000
/** Every process sees a pause within this time. */
const freshMs = 100
const patienceMs = 250
/** How long backfills may not ask and still count as held. */
const heldForMs = 600_000
const expectPatienceMs = 3_000
/** While Redis is away a backfill waits: what it read could not be committed either. */
const unknown: Answer = ['behind', 0]
/** After Redis failed to answer, no request goes to it for this long. */
const awayMs = 1_000
const mostTurns = 100

/**
 * The gate of an account for all processes on one Redis: a pause stops all of them at once, the rate is one budget, and
 * live comes before backfill whichever processes work on them. While Redis is away each process uses its own gate: the
 * rate then holds for each alone, and backfills wait.
 */
export function createSharedAccountGate(options: SharedGateOptions, deps: SharedGateDeps): AccountGate {
  return new SharedAccountGate(options, deps)
}

class SharedAccountGate implements AccountGate {
  readonly #account: string
  readonly #deps: SharedGateDeps
  readonly #everyMs: number
  readonly #keys: Readonly<Record<'pause' | 'rate' | 'live' | 'held' | 'preceded', string>>
  readonly #scripts: Readonly<Record<'enter' | 'expect' | 'pause', Script>>
  #awayUntilMs = -Infinity
  #fresh: { readonly answer: Promise<Answer | undefined>; readonly untilMs: number } | undefined

  constructor({ keyPrefix, account, maxRequestsPerSecond }: SharedGateOptions, deps: SharedGateDeps) {
    this.#account = account
    this.#deps = deps
    this.#everyMs = maxRequestsPerSecond === null ? 0 : 1000 / maxRequestsPerSecond
    const key = (name: string) => `{${keyPrefix}}:account:${encodeURIComponent(account)}:${name}`
    this.#keys = {
      pause: key('pause'),
      rate: key('rate'),
      live: key('live'),
      held: key('held'),
      preceded: key('preceded'),
    }
    const script = (name: string) => loadScript(deps.client, new URL(`./${name}.lua`, import.meta.url))
    this.#scripts = {
      enter: script('gate-enter'),
      expect: script('gate-expect'),
      pause: script('gate-pause'),
    }
  }

  get throttledUntilMs(): number | undefined {
    return this.#deps.local.throttledUntilMs
  }

  async pausedUntil(): Promise<number | undefined> {
    const { clock, local, client } = this.#deps
    const leftMs = Number((await this.#run(() => client.pttl(this.#keys.pause))) ?? 0)
    const untilMs = Math.max(local.throttledUntilMs ?? 0, leftMs > 0 ? clock.now() + leftMs : 0)
    return untilMs > clock.now() ? untilMs : undefined
  }

  async enter(signal: AbortSignal, priority: Priority, stream?: string): Promise<void> {
    await this.#enter(signal, priority)
    // The request does not wait for this.
    if (priority === 'live' && stream !== undefined) void this.#run(() => this.#began(stream))
  }

  async #began(stream: string): Promise<void> {
    const { client } = this.#deps
    await Promise.all([client.zrem(this.#keys.live, stream), client.srem(this.#keys.preceded, stream)])
  }

  async #enter(signal: AbortSignal, priority: Priority): Promise<void> {
    const { clock, local } = this.#deps
    if (signal.aborted) throw cancelled(signal.reason)
    const deadlineMs = clock.monotonic() + longestWaitMs
    for (let turn = 0; turn < mostTurns; turn++) {
      const answer = await this.#ask(priority, deadlineMs)
      if (signal.aborted) throw cancelled(signal.reason)
      if (answer === undefined && priority === 'live') return local.enter(signal, priority)
      if (await this.#followed(answer ?? unknown, deadlineMs, signal)) return
    }
    throw this.#throttled('the API keeps asking for pauses', longestWaitMs)
  }

  async pauseUntil(atMs: number): Promise<void> {
    const { clock, local } = this.#deps
    await local.pauseUntil(atMs)
    const leftMs = Math.ceil(atMs - clock.now())
    this.#fresh = undefined
    if (leftMs > 0) await this.#run(() => this.#scripts.pause([this.#keys.pause], [leftMs]))
  }

  async expectLive(dueInMs: ReadonlyMap<string, number>): Promise<void> {
    await this.#expect('these', [...dueInMs].flat())
  }

  async expectAgain(stream: string): Promise<void> {
    await this.#expect('also', [stream, 0])
  }

  async liveWaits(): Promise<boolean> {
    const answer = await this.#askToEnter('look', 0, longestWaitMs)
    return (answer ?? unknown)[0] === 'behind'
  }

  async #expect(which: 'these' | 'also', streams: readonly (string | number)[]): Promise<void> {
    const told = this.#scripts.expect(
      [this.#keys.live, this.#keys.preceded],
      [expectedForMs, which, ...streams],
    )
    // No request waits for this. If it is lost, the next plan sends it again.
    await within(expectPatienceMs, told, this.#deps.clock).catch(() => undefined)
  }

  /** True when the request may be sent now; false when it has to ask again. */
  async #followed([what, ms]: Answer, deadlineMs: number, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#deps
    const nowMs = clock.monotonic()
    if (what === 'full') throw this.#throttled('its limit of requests per second is reached', ms)
    if (what === 'behind' && nowMs >= deadlineMs) throw gaveWay(this.#account)
    if (what === 'paused' && nowMs + ms > deadlineMs) throw this.#throttled('the API asked for a pause', ms)
    if (what === 'pass' && ms === 0) return true
    await clock.sleep(what === 'behind' ? freshMs : Math.max(1, ms), signal)
    // A pause may have begun during the wait; the place in the rate is then lost.
    return what === 'pass' && !(await this.#isPaused())
  }

  async #ask(priority: Priority, deadlineMs: number): Promise<Answer | undefined> {
    const { clock, local } = this.#deps
    // A pause that this process knows also holds where Redis has lost it.
    const knownMs = (local.throttledUntilMs ?? 0) - clock.now()
    if (knownMs > 0) return ['paused', knownMs]
    const longestMs = Math.max(0, deadlineMs - clock.monotonic())
    if (priority === 'backfill' || this.#everyMs > 0)
      return this.#askToEnter(priority, this.#everyMs, longestMs)
    // Without a rate the answer is the same for all live requests, so they share it for a short time.
    if (this.#fresh === undefined || this.#fresh.untilMs <= clock.monotonic())
      this.#fresh = {
        answer: this.#askToEnter('live', 0, longestMs),
        untilMs: clock.monotonic() + freshMs,
      }
    return this.#fresh.answer
  }

  async #askToEnter(
    priority: Priority | 'look',
    everyMs: number,
    longestMs: number,
  ): Promise<Answer | undefined> {
    const { clock, local } = this.#deps
    const { pause, rate, live, held, preceded } = this.#keys
    const turnMs = backfillTurnMs(this.#everyMs)
    const args = [everyMs, longestMs, longestLineMs, priority, turnMs, Math.max(heldForMs, turnMs * 2)]
    const answer = await this.#run(() => this.#scripts.enter([pause, rate, live, held, preceded], args))
    if (!Array.isArray(answer)) return undefined
    const what = answers.find((known) => known === answer[0])
    const ms = Number(answer[1])
    if (what === 'paused') await local.pauseUntil(clock.now() + ms)
    return what === undefined ? undefined : [what, ms]
  }

  async #isPaused(): Promise<boolean> {
    const { local } = this.#deps
    if (local.throttledUntilMs !== undefined) return true
    return (await this.#askToEnter('live', 0, longestWaitMs))?.[0] === 'paused'
  }

  /** Undefined while Redis is away. */
  async #run(command: () => Promise<unknown>): Promise<unknown> {
    const { clock } = this.#deps
    if (clock.monotonic() < this.#awayUntilMs) return undefined
    try {
      const answer = await within(patienceMs, command(), clock)
      if (answer !== 'late') return answer.value
    } catch {
      // The store reports errors of Redis, since its work cannot continue without it.
    }
    this.#awayUntilMs = clock.monotonic() + awayMs
    return undefined
  }

  #throttled(why: string, leftMs: number): Failure {
    const { clock } = this.#deps
    const retryAt = Math.ceil(clock.now() + leftMs)
    return new Failure('wait', 'throttled', `account ${this.#account}: ${why}`, { retryAt })
  }
}
