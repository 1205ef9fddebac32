import { Failure } from '../../domain/failure.ts'
import type { Redis } from 'ioredis'
import type { Clock, Telemetry } from '../../ports/process.ts'
import { nameOf, type RedisServers } from '../../domain/redis-servers.ts'
import { connectRedis, onConnected, type RedisClient } from '../../redis/connection.ts'
import { isAbsence, isRefusal, isUnpermitted, redisFailure } from '../../redis/redis-failure.ts'

/** How long a call waits for a connection. */
const patienceMs = 2_500
const pauseMs = 50
/** How often the eviction policy is looked at again; sooner while it is a wrong one. */
const lookEveryMs = 60_000
const lookSoonMs = 5_000

export type Link = ReturnType<typeof createLink>

/**
 * One client. Each call ends within seconds, whatever the server does: with its result or with a Failure. A call whose
 * answer was lost is sent again, so it must be safe to repeat. Nothing is sent after a call has ended; a server that
 * hung may still execute what is in its buffers. Refuses all calls while a server would evict what is stored: a
 * replica that was promoted, or a change of settings, may bring another policy than the one at the opening.
 */
export function createLink(servers: RedisServers, clock: Clock) {
  const name = nameOf(servers)
  const closing = new AbortController()
  const closed = closing.signal
  /** Of the connection; undefined since it was ready. */
  let lastError: Error | undefined
  /** Aborts when the connection is ready, and when it was refused. */
  let changing = new AbortController()
  /** The policy of a server that would evict what is stored. */
  let evicting: string | undefined
  let lookedAtMs = clock.monotonic()
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
    onConnected(made, () => void (lookedAtMs = -Infinity))
    made.on('ready', () => {
      lastError = undefined
      wake()
    })
    return made
  }
  let client = connect()

  /** Calls do not wait for it. A server that does not answer leaves what is known. */
  function look(): void {
    if (clock.monotonic() - lookedAtMs < (evicting === undefined ? lookEveryMs : lookSoonMs)) return
    lookedAtMs = clock.monotonic()
    infosOf(client).then(
      (infos) => void (evicting = infos.map(policyIn).find(evicts)),
      () => undefined,
    )
  }

  return {
    /** For people, without secrets. */
    name,
    async run<T>(work: (client: RedisClient) => Promise<T>): Promise<T> {
      const untilMs = clock.monotonic() + patienceMs
      const before = lastError
      for (;;) {
        try {
          look()
          if (evicting !== undefined) throw evictionRefused(name, evicting)
          if (!closed.aborted) return await work(client)
        } catch (error) {
          // The cause of an earlier refusal may have been fixed: one more try decides.
          const isRefused = lastError !== before && isRefusal(lastError)
          const mayRecover = isAbsence(error) && !isRefused && clock.monotonic() < untilMs
          if (!mayRecover) throw redisFailure(isAbsence(error) ? (lastError ?? error) : error, name)
        }
        if (closed.aborted) throw new Failure('retry', 'store_unavailable', `the state (${name}) is closed`)
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

function infosOf(client: RedisClient): Promise<readonly string[]> {
  const servers = 'nodes' in client ? client.nodes('master') : [client]
  const info = (server: Redis) =>
    server.info().catch((error: unknown) => {
      // A user without the right to ask is like a server that reports nothing.
      if (!isUnpermitted(error)) throw error
      return ''
    })
  return Promise.all(servers.map(info))
}

function toldIn(info: string, figure: string): string | undefined {
  return new RegExp(`^${figure}:(.*?)\\r?$`, 'm').exec(info)?.[1]
}

const policyIn = (info: string) => toldIn(info, 'maxmemory_policy')
const evicts = (policy: string | undefined): policy is string => (policy ?? 'noeviction') !== 'noeviction'

function evictionRefused(name: string, policy: string): Failure {
  const text = `the state (${name}) would delete progress when its memory is full (its eviction policy is ${policy})`
  const remedy = 'set maxmemory-policy noeviction there, as in `CONFIG SET maxmemory-policy noeviction`'
  return new Failure('stop', 'store_refuses', `${text}: ${remedy}`)
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
    throw new Failure('stop', 'store_refuses', `the state (${link.name}) ${text}: ${remedy}`)
  }
  const texts = await link.run(infosOf)
  const warnings = new Set<string>()
  for (const text of texts) {
    const [version = '', policy] = [toldIn(text, 'redis_version'), policyIn(text)]
    if (olderThan62.test(version)) refuse(`is version ${version}`, 'use 6.2 or later')
    if (evicts(policy)) throw evictionRefused(link.name, policy)
    if (policy === undefined)
      warnings.add(
        'does not report its eviction policy; make sure that it is noeviction, or progress can be lost',
      )
    if (toldIn(text, 'cluster_enabled') === '1' && topology !== 'cluster')
      refuse('is a node of a cluster', 'list its nodes under state.redis.cluster')
    if (toldIn(text, 'aof_enabled') === '0')
      warnings.add('keeps no append-only file; set appendonly yes, or a restart can lose progress')
  }
  for (const text of warnings)
    telemetry.emit({ name: 'Warned', about: 'state', text: `${link.name} ${text}` })
}
