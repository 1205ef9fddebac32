import { within } from '../domain/promises.ts'
import type { RedisServers } from '../domain/redis-servers.ts'
import type { Clock, Place, SharedLimits } from '../ports/process.ts'
import { connectRedis, loadScript, type RedisClient } from './connection.ts'

/**
 * Connects to the limits that the processes of a fleet share; whoever connects disconnects. Without an answer of Redis a
 * gate uses a budget of its process: the store and the schedule report errors of Redis.
 */
export function connectLimits(servers: RedisServers, clock: Clock) {
  const name = `${servers.keyPrefix}:shared`
  const client = connectRedis(servers, { manner: 'prompt', name }, () => undefined)
  return { client, limitsOf: sharedLimits(client, servers.keyPrefix, clock) }
}

const longestLineMs = 60_000
/** Every process sees a pause within this time. */
const freshMs = 100
const patienceMs = 250
/** After Redis failed to answer, no request goes to it for this long. */
const awayMs = 1_000

/**
 * The rate and the pauses of each account, for all processes on one Redis. `maxRequestsPerSecond`: of all processes
 * together. Does not close the client.
 */
export function sharedLimits(client: RedisClient, keyPrefix: string, clock: Clock) {
  const takeScript = loadScript(client, new URL('./account-take.lua', import.meta.url))
  const pauseScript = loadScript(client, new URL('./account-pause.lua', import.meta.url))
  let awayUntilMs = -Infinity

  /** Undefined while Redis is away. */
  async function run(command: () => Promise<unknown>): Promise<unknown> {
    if (clock.monotonic() < awayUntilMs) return undefined
    try {
      const answer = await within(patienceMs, command(), clock)
      if (answer !== 'late') return answer.value
    } catch {
      // The store reports errors of Redis, since its work cannot continue without it.
    }
    awayUntilMs = clock.monotonic() + awayMs
    return undefined
  }

  return (account: string, maxRequestsPerSecond: number | null): SharedLimits => {
    const everyMs = maxRequestsPerSecond === null ? 0 : 1000 / maxRequestsPerSecond
    const keyOf = (name: string) => `{${keyPrefix}}:account:${encodeURIComponent(account)}:${name}`
    const [pauseKey, rateKey] = [keyOf('pause'), keyOf('rate')]
    /** Without a rate, all requests pass until then. */
    let freeUntilMs = -Infinity
    return {
      async pausedMs() {
        const ms = await run(() => client.pttl(pauseKey))
        return ms === undefined ? undefined : Math.max(0, Number(ms))
      },
      async take({ longestWaitMs, mayWait }) {
        const nowMs = clock.monotonic()
        if (nowMs < freeUntilMs) return ['pass', 0]
        const args = [everyMs, longestWaitMs, longestLineMs, mayWait ? 1 : 0]
        const answer = (await run(() => takeScript([pauseKey, rateKey], args))) as
          [Place[0], string] | undefined
        if (everyMs === 0 && answer?.[0] === 'pass') freeUntilMs = nowMs + freshMs
        return answer && [answer[0], Number(answer[1])]
      },
      async pause(ms) {
        await run(() => pauseScript([pauseKey], [ms]))
      },
    }
  }
}
