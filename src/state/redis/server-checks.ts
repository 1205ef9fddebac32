import { Failure, isFailure, messageOf } from '../../domain/failure.ts'
import type { Telemetry } from '../../ports/process.ts'
import type { RedisServers } from '../../domain/redis-servers.ts'
import type { Link } from './link.ts'

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
