import type { Secret } from './text/secret.ts'
import type { Tls } from './tls.ts'

export interface RedisServers {
  readonly topology: 'single' | 'sentinel' | 'cluster'
  /** The server itself, the sentinels, or some nodes of the cluster. */
  readonly nodes: readonly { readonly host: string; readonly port: number }[]
  /** The name that the sentinels know the primary by. */
  readonly primary?: string
  readonly db: number
  readonly username?: string
  readonly password?: Secret
  /** Present where the connection is encrypted, to the sentinels too. */
  readonly tls?: Tls
  /** Of all keys of a deployment. */
  readonly keyPrefix: string
}

/** For people, without secrets. */
export function nameOf({ topology, nodes, primary, db, tls }: RedisServers): string {
  const hosts = nodes.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(', ')
  if (topology === 'cluster') return `Redis cluster at ${hosts}`
  if (topology === 'sentinel') return `Redis ${primary} of the sentinels at ${hosts}`
  return `${tls === undefined ? 'redis' : 'rediss'}://${hosts}/${db}`
}
