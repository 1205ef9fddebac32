import { randomBytes } from 'node:crypto'
import type { RedisServers } from '../../../src/domain/redis-servers.ts'

/** Settings for a URL, as the configuration makes them. */
export function stateAt(url: string, more: Partial<RedisServers> = {}): RedisServers {
  const { hostname, port, pathname } = new URL(url)
  return {
    topology: 'single',
    nodes: [{ host: hostname, port: Number(port === '' ? 6379 : port) }],
    db: Number(pathname.slice(1)),
    keyPrefix: `test-${randomBytes(4).toString('hex')}`,
    ...more,
  }
}
