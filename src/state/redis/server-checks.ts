import { Failure, messageOf } from '../../domain/failure.ts'
import type { Telemetry } from '../../ports/process.ts'
import type { RedisClient, RedisServers } from '../../redis/connection.ts'
import type { Link } from './link.ts'

const oldest = [6, 2] as const

/** What a server reports of itself; absent members were not reported. Managed servers omit some. */
interface Facts {
  readonly version?: string
  readonly evictionPolicy?: string
  readonly keepsLog?: boolean
  readonly isNode?: boolean
}

/**
 * Refuses servers that cannot keep a store, and warns of unknown or unwise settings. Reads INFO, since managed servers
 * forbid CONFIG. Throws `store_refuses`.
 */
export async function checkServers(
  link: Link,
  topology: RedisServers['topology'],
  telemetry: Telemetry,
): Promise<void> {
  const warnings = new Set<string>()
  for (const facts of await askServers(link, warnings)) {
    refuseOld(link, facts)
    refuseEviction(link, facts)
    if (facts.isNode === true && topology !== 'cluster')
      throw refusal(link, 'is a node of a cluster', 'list its nodes under state.redis.cluster')
    if (facts.evictionPolicy === undefined)
      warnings.add(
        'does not report its eviction policy; make sure that it is noeviction, or progress can be lost',
      )
    if (facts.keepsLog === false)
      warnings.add('keeps no append-only file; set appendonly yes, or a restart can lose progress')
  }
  for (const text of warnings)
    telemetry.emit({ name: 'Warned', about: 'state', text: `${link.name} ${text}` })
}

async function askServers(link: Link, warnings: Set<string>): Promise<Facts[]> {
  try {
    return await link.run(async (client) => {
      const texts = await Promise.all(serversOf(client).map((server) => server.info()))
      return texts.map(readInfo)
    })
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'stop') throw error
    warnings.add(`does not answer INFO (${messageOf(error)})`)
    return [{}]
  }
}

function serversOf(client: RedisClient) {
  return 'nodes' in client ? client.nodes('master') : [client]
}

function readInfo(text: string): Facts {
  const lines = new Map(
    text.split('\r\n').flatMap((line) => {
      const at = line.indexOf(':')
      return at < 0 ? [] : [[line.slice(0, at), line.slice(at + 1)] as const]
    }),
  )
  const version = lines.get('redis_version')
  const evictionPolicy = lines.get('maxmemory_policy')
  const log = lines.get('aof_enabled')
  return {
    ...(version !== undefined && { version }),
    ...(evictionPolicy !== undefined && { evictionPolicy }),
    ...(log !== undefined && { keepsLog: log !== '0' }),
    isNode: lines.get('cluster_enabled') === '1',
  }
}

function refuseOld(link: Link, { version }: Facts): void {
  const found = /^(\d+)\.(\d+)/.exec(version ?? '')
  if (found === null) return
  const [major, minor] = [Number(found[1]), Number(found[2])]
  if (major > oldest[0] || (major === oldest[0] && minor >= oldest[1])) return
  throw refusal(link, `is version ${version}`, `use ${oldest.join('.')} or later`)
}

function refuseEviction(link: Link, { evictionPolicy }: Facts): void {
  if (evictionPolicy === undefined || evictionPolicy === 'noeviction') return
  const remedy = 'set maxmemory-policy noeviction there, as in `CONFIG SET maxmemory-policy noeviction`'
  const text = `would delete progress when its memory is full (its eviction policy is ${evictionPolicy})`
  throw refusal(link, text, remedy)
}

function refusal(link: Link, text: string, remedy: string): Failure {
  return new Failure('stop', 'store_refuses', `the store (${link.name}) ${text}: ${remedy}`)
}
