import type { RedisServers } from './connection.ts'

/** For people, without secrets. Apart from the connection, whose client takes 20 MB: a process without Redis needs it too. */
export function nameOf({ topology, nodes, primary, db, tls }: RedisServers): string {
  const hosts = nodes.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(', ')
  if (topology === 'cluster') return `Redis cluster at ${hosts}`
  if (topology === 'sentinel') return `Redis ${primary} of the sentinels at ${hosts}`
  return `${tls === undefined ? 'redis' : 'rediss'}://${hosts}/${db}`
}
