import { Failure, isFailure } from '../../domain/failure.ts'
import type { Clock, Telemetry } from '../../ports/process.ts'
import { nameOf, type RedisServers } from '../../domain/redis-servers.ts'
import { connectRedis, type RedisClient } from '../../redis/connection.ts'
import { isAbsence, isRefusal, redisFailure } from '../../redis/redis-failure.ts'

/** How long a call waits for a connection. */
const patienceMs = 2_500
const pauseMs = 50

export type Link = ReturnType<typeof createLink>

/**
 * One client. Each call ends within seconds, whatever the server does: with its result or with a Failure. A call whose
 * answer was lost is sent again, so it must be safe to repeat. Nothing is sent after a call has ended; a server that
 * hung may still execute what is in its buffers.
 */
export function createLink(servers: RedisServers, clock: Clock) {
  const name = nameOf(servers)
  const closing = new AbortController()
  const closed = closing.signal
  /** Of the connection; undefined since it was ready. */
  let lastError: Error | undefined
  /** Aborts when the connection is ready, and when it was refused. */
  let changing = new AbortController()
  const wake = (): void => {
    changing.abort()
    changing = new AbortController()
  }

  function connect(): RedisClient {
    const fail = (error: Error): void => {
      if (made !== client || isAboutDatabase(lastError)) return
      lastError = error
      // The client itself would continue in database 0.
      if (isAboutDatabase(error)) made.disconnect()
      // Reads a changed password again; a client keeps the one that it was created with.
      if (!isRefusal(error) || closed.aborted) return
      if (servers.password?.reread() !== true) return wake()
      // What was refused is not the password of now: what waits tries once more with that.
      lastError = undefined
      made.disconnect()
      client = connect()
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

  return {
    /** For people, without secrets. */
    name,
    async run<T>(work: (client: RedisClient) => Promise<T>): Promise<T> {
      const untilMs = clock.monotonic() + patienceMs
      const before = lastError
      for (;;) {
        try {
          if (!closed.aborted) return await work(client)
        } catch (error) {
          // The cause of an earlier refusal may have been fixed: one more try decides.
          const isRefused = lastError !== before && isRefusal(lastError)
          const mayRecover = isAbsence(error) && !isRefused && clock.monotonic() < untilMs
          if (!mayRecover) throw redisFailure(isAbsence(error) ? (lastError ?? error) : error, name)
        }
        if (closed.aborted) throw new Failure('retry', 'store_unavailable', `the store (${name}) is closed`)
        const waitMs = client.status === 'ready' ? pauseMs : untilMs - clock.monotonic()
        await clock.sleep(waitMs, AbortSignal.any([closed, changing.signal])).catch(() => undefined)
      }
    },
    /** May be called twice. */
    close(): void {
      closing.abort()
      client.disconnect()
    },
  }
}

function isAboutDatabase(error?: Error & { readonly command?: { readonly name?: string } }): boolean {
  return error?.command?.name === 'select'
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
  const asked = link.run((client) =>
    Promise.all(('nodes' in client ? client.nodes('master') : [client]).map((server) => server.info())),
  )
  // A user without the right to ask is like a server that reports nothing.
  const texts = await asked.catch((error: unknown) => {
    if (isFailure(error) && error.kind === 'stop') return ['']
    throw error
  })
  const warnings = new Set<string>()
  for (const text of texts) {
    const told = (figure: string) => new RegExp(`^${figure}:(.*?)\\r?$`, 'm').exec(text)?.[1]
    const [version = '', policy] = [told('redis_version'), told('maxmemory_policy')]
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
    if (told('cluster_enabled') === '1' && topology !== 'cluster')
      refuse('is a node of a cluster', 'list its nodes under state.redis.cluster')
    if (told('aof_enabled') === '0')
      warnings.add('keeps no append-only file; set appendonly yes, or a restart can lose progress')
  }
  for (const text of warnings)
    telemetry.emit({ name: 'Warned', about: 'state', text: `${link.name} ${text}` })
}
