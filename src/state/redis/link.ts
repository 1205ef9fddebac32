import { Failure, isFailure, messageOf } from '../../domain/failure.ts'
import type { Clock, Telemetry } from '../../ports/process.ts'
import { nameOf, type RedisServers } from '../../domain/redis-servers.ts'
import { connectRedis, type RedisClient } from '../../redis/connection.ts'
import { isLost, isRefusal, redisFailure } from '../../redis/redis-failure.ts'

/** How long a call waits for a connection. */
const patienceMs = 2_500
const pauseMs = 50

/**
 * One client. Each call ends within seconds, whatever the server does: with its result or with a Failure. A call whose
 * answer was lost is sent again, so it must be safe to repeat. Nothing is sent after a call has ended; a server that
 * hung may still execute what is in its buffers.
 */
export interface Link {
  /** For people, without secrets. */
  readonly name: string
  run<T>(work: (client: RedisClient) => Promise<T>): Promise<T>
  /** May be called twice. */
  close(): void
}

export function createLink(servers: RedisServers, clock: Clock): Link {
  const name = nameOf(servers)
  const closing = new AbortController()
  const closed = closing.signal
  let lastError: Error | undefined
  /** Calls that wait for the client to be ready; woken when it is, and when it was refused. */
  const waiting = new Set<AbortController>()
  const wake = (): void => waiting.forEach((each) => each.abort())

  function connect(): RedisClient {
    const fail = (error: Error): void => {
      if (made !== client || (lastError !== undefined && isAboutDatabase(lastError))) return
      lastError = error
      // The client itself would continue in database 0.
      if (isAboutDatabase(error)) made.disconnect()
      if (!isRefusal(error)) return
      // Reads a changed password again; a client keeps the one that it was created with.
      if (!closed.aborted && servers.password?.reread() === true) {
        made.disconnect()
        client = connect()
      } else wake()
    }
    const made = connectRedis(servers, { manner: 'strict', name: servers.keyPrefix }, fail)
    made.on('node error', fail)
    made.on('ready', () => {
      lastError = undefined
      wake()
    })
    return made
  }
  let client = connect()

  async function untilReady(untilMs: number): Promise<void> {
    const began = lastError
    while (client.status !== 'ready') {
      if (closed.aborted) throw gone()
      const leftMs = untilMs - clock.monotonic()
      // The cause of an earlier refusal may have been fixed: one more try decides.
      if (leftMs <= 0 || (lastError !== began && isRefusal(lastError))) throw away()
      const waking = new AbortController()
      waiting.add(waking)
      await clock.sleep(leftMs, waking.signal).catch(() => undefined)
      waiting.delete(waking)
    }
    if (closed.aborted) throw gone()
  }

  const gone = () => new Failure('retry', 'store_unavailable', `the store (${name}) is closed`)
  const away = () => redisFailure(lastError ?? new Error('no connection in time'), name)

  async function run<T>(work: (client: RedisClient) => Promise<T>): Promise<T> {
    const untilMs = clock.monotonic() + patienceMs
    for (;;) {
      await untilReady(untilMs)
      try {
        return await work(client)
      } catch (error) {
        if (closed.aborted || !isLost(error) || clock.monotonic() >= untilMs) throw redisFailure(error, name)
      }
      await clock.sleep(pauseMs, closed).catch(() => undefined)
    }
  }

  return {
    name,
    run,
    close() {
      closing.abort()
      wake()
      client.disconnect()
    },
  }
}

function isAboutDatabase(error: Error & { readonly command?: { readonly name?: string } }): boolean {
  return error.command?.name === 'select'
}

const olderThan62 = /^(?:[0-5]\.|6\.[01]\.)/

/**
 * Refuses servers that cannot keep a store, and warns of unknown or unwise settings. Reads INFO, since managed servers
 * forbid CONFIG, and omit some of it. Throws `store_refuses`.
 */
export async function checkServers(
  link: Link,
  topology: RedisServers['topology'],
  telemetry: Telemetry,
): Promise<void> {
  const refuse = (text: string, remedy: string) => {
    throw new Failure('stop', 'store_refuses', `the store (${link.name}) ${text}: ${remedy}`)
  }
  const warnings = new Set<string>()
  for (const info of await askServers(link, warnings)) {
    const [version = '', policy] = [info.get('redis_version'), info.get('maxmemory_policy')]
    if (olderThan62.test(version)) refuse(`is version ${version}`, 'use 6.2 or later')
    if (policy === undefined)
      warnings.add(
        'does not report its eviction policy; make sure that it is noeviction, or progress can be lost',
      )
    else if (policy !== 'noeviction')
      refuse(
        `would delete progress when its memory is full (its eviction policy is ${policy})`,
        'set maxmemory-policy noeviction there, as in `CONFIG SET maxmemory-policy noeviction`',
      )
    if (info.get('cluster_enabled') === '1' && topology !== 'cluster')
      refuse('is a node of a cluster', 'list its nodes under state.redis.cluster')
    if (info.get('aof_enabled') === '0')
      warnings.add('keeps no append-only file; set appendonly yes, or a restart can lose progress')
  }
  for (const text of warnings)
    telemetry.emit({ name: 'Warned', about: 'state', text: `${link.name} ${text}` })
}

/** What each server reports of itself. */
async function askServers(link: Link, warnings: Set<string>): Promise<ReadonlyMap<string, string>[]> {
  try {
    return await link.run(async (client) => {
      const servers = 'nodes' in client ? client.nodes('master') : [client]
      const texts = await Promise.all(servers.map((server) => server.info()))
      return texts.map(
        (text) => new Map([...text.matchAll(/^(\w+):(.*?)\r?$/gm)].map(([, name, of]) => [name!, of!])),
      )
    })
  } catch (error) {
    if (!isFailure(error) || error.kind !== 'stop') throw error
    warnings.add(`does not answer INFO (${messageOf(error)})`)
    return [new Map()]
  }
}
